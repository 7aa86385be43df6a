import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { REPOSITORY } from '../run-gateway.ts'
import type { AgentCli, AgentSetting, LocalServer } from './agent-cli.ts'

/** A home and a folder to work in that only one CLI knows. */
export interface AgentPlace {
  readonly root: string
  readonly home: string
  readonly work: string
  /** The bytes and the time of a file below the home. */
  stateOf(path: string): FileState
  remove(): void
}

export interface FileState {
  readonly sha256: string
  readonly mtimeMs: number
}

export function makeAgentPlace(cli: AgentCli, setting: AgentSetting, root = newRoot()): AgentPlace {
  const home = join(root, 'home')
  for (const folder of [home, join(root, 'work'), join(root, 'tmp')]) mkdirSync(folder)
  for (const [path, content] of Object.entries(cli.files(setting))) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), content, { mode: 0o600 })
  }
  return {
    root,
    home,
    work: join(root, 'work'),
    stateOf: (path) => ({
      sha256: createHash('sha256')
        .update(readFileSync(join(home, path)))
        .digest('hex'),
      mtimeMs: statSync(join(home, path)).mtimeMs,
    }),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  }
}

export const newRoot = (): string => mkdtempSync(join(tmpdir(), 'sallyport-agent-'))

export const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

/** A server of the user's own that nobody is to see: it leaves a trace as soon as it is spoken to. */
export interface Decoy {
  readonly server: LocalServer
  readonly tools: readonly string[]
  wasUsed(): boolean
}

export function makeDecoy(folder: string): Decoy {
  const trace = join(folder, 'decoy-was-told')
  const args = [fixture('recording-pipe.mjs'), trace, fixture('mirror-server.mjs'), join(folder, 'decoy-calls')]
  return {
    server: { command: process.execPath, args },
    tools: ['mirror', 'hang'],
    wasUsed: () => existsSync(trace),
  }
}
