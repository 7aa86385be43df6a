import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Workspace } from '../../workspace/workspace.ts'
import { ConnectorError } from '../connector-error.ts'
import { withWorkspace } from '../source.ts'
import type { SqliteFile } from './sqlite-driver.ts'

const CHUNK_BYTES = 8 * 1024 * 1024
const MAX_BYTES = 256 * 1024 * 1024

/**
 * A copy of a workspace's file. SQLite opens by name, follows links and looks for journals beside the file; whoever
 * writes in the workspace could swap each of them. The copy is read once, through the workspace's own safe door.
 */
export async function copyFromWorkspace(workspace: Workspace, path: string): Promise<SqliteFile> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-sqlite-'))
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const copy = join(folder, 'copy.db')
    await withWorkspace({ workspace }, () => copyChunks(workspace, path, copy))
    return { path: copy, release }
  } catch (error) {
    await release()
    throw error
  }
}

async function copyChunks(workspace: Workspace, path: string, copy: string): Promise<void> {
  const target = await open(copy, 'wx', 0o600)
  try {
    for (let offset = 0; ; ) {
      const { bytes, size } = await workspace.readFile(path, { offset, limit: CHUNK_BYTES })
      if (size > MAX_BYTES)
        throw new ConnectorError(`The database has ${size} bytes; at most ${MAX_BYTES} are read.`, { retryable: false })
      if (bytes.length === 0) return
      await target.writeFile(bytes)
      offset += bytes.length
    }
  } finally {
    await target.close()
  }
}
