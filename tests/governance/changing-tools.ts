import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { REPOSITORY } from '../harness/run-gateway.ts'

export interface ToolText {
  readonly name: string
  readonly description?: string
  readonly [part: string]: unknown
}

/** A server whose tools a test can change while it runs. */
export interface ChangingTools {
  /** For `mcp_servers`. */
  readonly entry: object
  offer(...tools: readonly ToolText[]): void
  /** From now on it answers no list and no log level, until the returned function is called. */
  hold(what?: 'level'): () => void
  /** Stops its process until the returned function is called: it reads nothing. */
  stop(): () => void
  /** The names of the tools that were really called. */
  calls(): readonly string[]
}

const SERVER = join(REPOSITORY, 'tests/fixtures/changing-server.mjs')
const SCHEMA = { type: 'object', properties: { text: { type: 'string' } } }

export function createChangingTools(...first: readonly ToolText[]): ChangingTools {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-changing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return changingToolsIn(folder, first)
}

/** In a folder that somebody else removes. */
export function changingToolsIn(folder: string, first: readonly ToolText[]): ChangingTools {
  const file = join(folder, 'tools.json')
  const offer = (...tools: readonly ToolText[]): void => {
    writeFileSync(`${file}.new`, JSON.stringify(tools.map((tool) => ({ inputSchema: SCHEMA, ...tool }))))
    renameSync(`${file}.new`, file)
  }
  offer(...first)
  return {
    entry: { command: process.execPath, args: [SERVER, file] },
    offer,
    hold: (what) => {
      const mark = what === undefined ? `${file}.hold` : `${file}.hold-${what}`
      writeFileSync(mark, '')
      return () => rmSync(mark)
    },
    stop: () => {
      const pid = Number(readFileSync(`${file}.pid`, 'utf8'))
      process.kill(pid, 'SIGSTOP')
      return () => void process.kill(pid, 'SIGCONT')
    },
    calls: () => (existsSync(`${file}.calls`) ? readFileSync(`${file}.calls`, 'utf8').split('\n').filter(Boolean) : []),
  }
}
