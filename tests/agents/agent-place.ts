import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { REPOSITORY } from '../harness/run-gateway.ts'
import type { AgentCli, AgentSetting, LocalServer } from './agent-cli.ts'

/** A home and a folder to work in that only one CLI knows. */
export interface AgentPlace {
  readonly root: string
  readonly home: string
  readonly work: string
  addToProject(files: Readonly<Record<string, string>>): void
  addToHome(files: Readonly<Record<string, string>>): void
  stateOf(path: string): FileState
  remove(): void
}

/** A file below the home, as it is now. */
export interface FileState {
  readonly text: string
  readonly mtimeMs: number
}

export function makeAgentPlace(cli: AgentCli, setting: AgentSetting, root = newRoot()): AgentPlace {
  const home = join(root, 'home')
  for (const folder of [home, join(root, 'work'), join(root, 'tmp')]) mkdirSync(folder)
  writeFiles(home, cli.files(setting))
  return {
    root,
    home,
    work: join(root, 'work'),
    addToProject: (files) => writeFiles(join(root, 'work'), files),
    addToHome: (files) => writeFiles(home, files),
    stateOf: (path) => ({
      text: readFileSync(join(home, path), 'utf8'),
      mtimeMs: statSync(join(home, path)).mtimeMs,
    }),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  }
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content, { mode: 0o600 })
  }
}

export const newRoot = (): string => mkdtempSync(join(tmpdir(), 'sallyport-agent-'))

export const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

/** A server that must not be used: it leaves a trace as soon as it is contacted. */
export interface Decoy {
  readonly name: string
  readonly server: LocalServer
  wasUsed(): boolean
  /** Forgets its uses until now. */
  forget(): void
}

export function makeDecoy(folder: string, name: string): Decoy {
  const trace = join(folder, `${name}-was-told`)
  const args = [fixture('recording-pipe.mjs'), trace, fixture('mirror-server.mjs'), join(folder, `${name}-calls`)]
  return {
    ...{ name, server: { command: process.execPath, args } },
    wasUsed: () => existsSync(trace),
    forget: () => rmSync(trace, { force: true }),
  }
}
