import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LegacyClient, type RpcAnswer } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'

type Message = Record<string, any>

export interface GovernedOptions {
  readonly servers: Readonly<Record<string, object>>
  /** tools.yaml: entries by their keys. */
  readonly tools?: Readonly<Record<string, object>>
  readonly governance?: object
}

/** A gateway that enforces its rules. */
export interface GovernedBench {
  readonly gateway: RunningGateway
  setMode(mode: string): Promise<void>
  /** Puts other entries in force. */
  writeTools(tools: Readonly<Record<string, object>>): Promise<void>
  /** The last record of a type. */
  last(type: string): Message | undefined
  close(): Promise<void>
}

export async function openGoverned({ servers, tools = {}, governance }: GovernedOptions): Promise<GovernedBench> {
  const place = makePlace({
    // Many refusals are what these tests are about: they must not change the mode.
    governance: { enforce: true, approval_timeout: '1s', escalation: { policy_violations: false }, ...governance },
    mcp_servers: servers,
  })
  let written = 0
  /** No two of them have the same number of entries: the number in force shows which one is used. */
  const write = (entries: Readonly<Record<string, object>>): number => {
    const fillers = Array.from({ length: ++written }, (_, at) => [`mcp__nobody__t${at}`, {}] as const)
    const tools = { ...entries, ...Object.fromEntries(fillers) }
    // Atomically: otherwise half a file could be read.
    writeFileSync(join(place.home, 'tools.new'), `${JSON.stringify({ tools })}\n`)
    renameSync(join(place.home, 'tools.new'), join(place.home, 'tools.yaml'))
    return Object.keys(tools).length
  }
  write(tools)
  const gateway = await runGateway({ place })
  const last = (type: string): Message | undefined => gateway.records().findLast((record) => record.type === type)
  const where = ['--home', place.home, '--state', place.state]
  return {
    gateway,
    last,
    setMode: async (mode) => {
      const { code, stderr } = await runCommand(['mode', mode, '--why', 'a test', ...where])
      if (code !== 0) throw new Error(stderr)
    },
    writeTools: async (entries) => {
      const before = gateway.records().length
      const count = write(entries)
      const news = () => gateway.records().slice(before)
      await eventually(news, (records) =>
        records.some((record) => record.type === 'TOOLS_FILE_RELOADED' && record.entries === count),
      )
    },
    close: () => gateway.stop(),
  }
}

/** A folder of the test's own, gone when it is over. */
export function makeFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'sallyport-governed-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export const npmServer = (name: string, ...args: readonly string[]): object => ({
  command: process.execPath,
  args: [join(REPOSITORY, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
})

export const fixture = (name: string, ...args: readonly string[]): object => ({
  command: process.execPath,
  args: [join(REPOSITORY, 'tests/fixtures', name), ...args],
})

/** The outcome of a request: the code of our refusal, `error` for an error of the server, or `ok`. */
export function outcomeOf({ message }: Pick<RpcAnswer, 'message'>): string {
  const code = message.error?.data?.code ?? message.result?._meta?.['sallyport/error']?.code
  if (code !== undefined) return code
  return message.error || message.result?.isError ? 'error' : 'ok'
}

export const openClient = ({ gateway }: GovernedBench): Promise<LegacyClient> => LegacyClient.open(gateway.mcp)
