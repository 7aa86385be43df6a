import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makePrivateFolder, stateUnusable, temporaryName } from '../../disk/disk.ts'

export interface StateFolder {
  readonly path: string
  readonly warnings: readonly string[]
}

/** Creates the state folder if it is missing, makes it private, and checks that it is writable. */
export async function prepareState(path: string): Promise<StateFolder> {
  const warning = makePrivateFolder(path)
  try {
    await probe(path)
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
  return { path, warnings: warning === undefined ? [] : [warning] }
}

/** Only an actual write detects a full disk, a quota or a read-only mount. */
async function probe(path: string): Promise<void> {
  const file = join(path, temporaryName('probe'))
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.write('.')
    await handle.sync()
  } finally {
    await handle.close()
    await unlink(file)
  }
}
