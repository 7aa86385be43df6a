import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChangingTools, changingToolsIn, type ToolText } from '../governance/changing-tools.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, makePlace, type Place, type RunningGateway, runGateway } from '../harness/run-gateway.ts'

type Json = Record<string, any>

export const READ: ToolText = { name: 'read_page', description: 'Read a page.' }
export const DRIFTED: ToolText = { ...READ, description: 'Read it, and tell me.' }
export const STALL: ToolText = { name: 'read_stall', description: 'Read nothing for a while.' }

/** Whoever makes a call, by a token of its own. */
export interface Caller {
  readonly id: string
  readonly bearer: { readonly authorization: string }
}

export interface WaitingOptions {
  /** The ids of the servers: each has the tool `read_page`. */
  readonly servers: readonly string[]
  /** Their calls need approval. */
  readonly approved?: readonly string[]
  /** Further arguments and keys of their entries. */
  readonly args?: readonly string[]
  readonly entry?: Json
  /** The gateway knows the servers from before, and none of them lists what it offers until it is released. */
  readonly isHeldAtStart?: boolean
  readonly governance?: Json
  /** Servers that the test runs itself, by id. */
  readonly urls?: Readonly<Record<string, string>>
}

/** A gateway before servers whose calls a test keeps waiting while it changes something. */
export class WaitingBench {
  readonly gateway: RunningGateway
  readonly #tools: ReadonlyMap<string, ChangingTools>
  readonly #releases: ReadonlyMap<string, () => void>

  constructor(
    gateway: RunningGateway,
    tools: ReadonlyMap<string, ChangingTools>,
    releases = new Map<string, () => void>(),
  ) {
    this.gateway = gateway
    this.#tools = tools
    this.#releases = releases
  }

  static async open(options: WaitingOptions): Promise<WaitingBench> {
    const place = makePlace()
    const tools = new Map(options.servers.map((id) => [id, toolsIn(place, id)]))
    place.writeConfig({ governance: options.governance ?? {}, mcp_servers: entriesOf(tools, options) })
    const first = await runGateway({ place })
    const known = [...options.servers, ...Object.keys(options.urls ?? {})]
    await eventually(
      () => (existsSync(join(place.home, 'tools.yaml')) ? readFileSync(join(place.home, 'tools.yaml'), 'utf8') : ''),
      (text) => known.every((id) => text.includes(`mcp__${id}__read_page:`)),
    ).catch(async (error: unknown) => {
      await first.stop()
      throw error
    })
    if (!options.isHeldAtStart) return new WaitingBench(first, tools).approving(options.approved ?? [])
    await endProcess(first.child)
    const releases = new Map([...tools].map(([id, changing]) => [id, changing.hold()]))
    return new WaitingBench(await runGateway({ place }), tools, releases)
  }

  tools(server: string): ChangingTools {
    return this.#tools.get(server) as ChangingTools
  }

  /** Lets a server list what it offers, if it was held at the start. */
  release(server: string): void {
    this.#releases.get(server)?.()
  }

  async api(path: string, options: { readonly method?: string; readonly body?: Json } = {}): Promise<Json> {
    const { method = 'GET', body } = options
    const headers = { authorization: `Bearer ${this.gateway.token('operator')}`, 'content-type': 'application/json' }
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    return (await (await fetch(`${this.gateway.url}${path}`, sent)).json()) as Json
  }

  async mint(session: string): Promise<Caller> {
    const body = { agent: 'codex', session }
    const { token, record } = await this.api('/api/tokens', { method: 'POST', body })
    return { id: record.id, bearer: { authorization: `Bearer ${token}` } }
  }

  count(type: string, server?: string): number {
    return this.gateway.records().filter((record) => record.type === type && (!server || record.server === server))
      .length
  }

  /** One more record of this type than there were. */
  async oneMore(type: string, act: () => unknown, server?: string): Promise<void> {
    const before = this.count(type, server)
    await act()
    await eventually(
      () => this.count(type, server),
      (count) => count > before,
    )
  }

  /** Another line in the entry of the tool of each of these servers, in force when this resolves. */
  rule(servers: readonly string[], line: string): Promise<void> {
    const file = join(this.gateway.home, 'tools.yaml')
    const [field] = line.split(':')
    const text = servers.reduce(
      (before, server) => {
        const [head = '', entry = ''] = before.split(`mcp__${server}__read_page:\n`)
        const [own = '', ...others] = entry.split('\n\n')
        const kept = own.split('\n').filter((text) => !text.trimStart().startsWith(`${field}:`))
        return `${head}mcp__${server}__read_page:\n    ${line}\n${[kept.join('\n'), ...others].join('\n\n')}`
      },
      readFileSync(file, 'utf8'),
    )
    return this.oneMore('TOOLS_FILE_RELOADED', () => writeFileSync(file, text))
  }

  /** From now on the calls of these servers need approval. */
  async approving(servers: readonly string[]): Promise<this> {
    if (servers.length > 0) await this.rule(servers, 'requires_approval: true')
    return this
  }

  async modes(...modes: readonly string[]): Promise<void> {
    for (const mode of modes) await this.api('/api/mode', { method: 'PUT', body: { mode, why: 'a test' } })
  }

  /** The request for approval of a call of this server, once there is one. */
  async pending(server: string): Promise<string> {
    const found = await eventually(
      async () => ((await this.api('/api/approvals')).approvals as Json[]).find((request) => request.server === server),
      (request) => request !== undefined,
    )
    return found?.id
  }

  close(): Promise<void> {
    return this.gateway.stop()
  }
}

function toolsIn({ home }: Place, id: string): ChangingTools {
  const folder = join(home, `server-${id}`)
  mkdirSync(folder)
  return changingToolsIn(folder, [READ, STALL])
}

/** A machine may be busy while a server is held. */
const PATIENT = { timeouts: { startup: '50s' } }

function entriesOf(
  tools: ReadonlyMap<string, ChangingTools>,
  { args = [], entry = {}, urls = {} }: WaitingOptions,
): Json {
  const own = [...tools].map(([id, changing]) => {
    const { command, args: given } = changing.entry as { readonly command: string; readonly args: readonly string[] }
    return [id, { command, args: [...given, ...args], ...PATIENT, ...entry }]
  })
  return {
    ...Object.fromEntries(own),
    ...Object.fromEntries(Object.entries(urls).map(([id, url]) => [id, { url, ...PATIENT }])),
  }
}
