import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { EntryPoints } from '../../packages/gateway/src/compose/entry-points.ts'
import type { Gateway } from '../../packages/gateway/src/compose/gateway.ts'
import { openGateway } from '../../packages/gateway/src/compose/open-gateway.ts'
import { loadSettings, prepareState, readHome } from '../../packages/gateway/src/config/config.ts'
import { openStore } from '../../packages/gateway/src/store/store.ts'
import { MODERN_ENVELOPE, modernRequest } from '../harness/mcp-client.ts'
import { openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, REPOSITORY, readRecords } from '../harness/run-gateway.ts'

type Json = Record<string, any>

const SALARY = 'Ada earns 5200'
const FIXTURE = join(REPOSITORY, 'tests/fixtures/instance-server.mjs')

/** A running instance of the server of `instance-server.mjs`. */
export interface Instance {
  readonly url: string
  readonly port: string
  readonly child: ChildProcess
  /** The messages of one method that arrived. */
  received(method: string): Promise<readonly Json[]>
  /** Every text that arrived, as one. */
  receivedText(): Promise<string>
  control(path: '/release' | '/touch' | '/offer', body?: string): Promise<void>
  /** Without a warning. */
  kill(): Promise<void>
}

export async function startInstance(name: string, args: readonly string[] = []): Promise<Instance> {
  const child = spawn(process.execPath, [FIXTURE, name, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const read = async (): Promise<string> => (await fetch(new URL('/received', url))).text()
  return {
    url,
    port: new URL(url).port,
    child,
    received: async (method) => (JSON.parse(await read()) as Json[]).filter((message) => message.method === method),
    receivedText: read,
    control: async (path, body = '') => void (await (await fetch(new URL(path, url), { method: 'POST', body })).text()),
    kill: async () => {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

export const stopInstance = ({ child }: Instance): Promise<void> => endProcess(child)

/** A gateway in this process. It has one more server, `vault`, whose data is private. */
export interface PairedGateway {
  readonly gateway: Gateway
  readonly mcp: string
  readonly warnings: readonly string[]
  /** The headers of a caller in this session. */
  headers(session: string): Promise<Record<string, string>>
  request(session: string, method: string, params?: Json): Promise<Json>
  call(session: string, tool: string, args?: Json): Promise<Json>
  /** The session reads private data of another server. */
  makePrivate(session: string): Promise<void>
  /** Without those about `vault`. */
  records(type: string): readonly Json[]
  reload(servers: Json): Promise<void>
  close(): Promise<void>
}

export interface PairedGatewayOptions {
  readonly servers: Json
  /** Home and state of a gateway that ran before. */
  readonly root?: string
}

export const makeRoot = (): string => mkdtempSync(join(tmpdir(), 'sallyport-pair-'))
export const removeRoot = (root: string): void => rmSync(root, { recursive: true, force: true, maxRetries: 5 })

const OPEN = { requires_approval: false }

async function load(home: string, servers: Json) {
  const defaults = { low: OPEN, medium: OPEN, high: OPEN }
  const governance = { enforce: true, defaults, escalation: { policy_violations: false, upstream_crashes: false } }
  // On a busy machine the start of a server takes longer than calls usually wait for one that is not known yet.
  const config = { gateway: { startup_wait: '50s' }, governance, mcp_servers: servers }
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config))
  return loadSettings({ home, environment: process.env, content: await readHome(home) })
}

export async function openPairedGateway({ servers, root = makeRoot() }: PairedGatewayOptions): Promise<PairedGateway> {
  const state = join(root, 'state')
  await prepareState(state)
  const store = openStore({ state, durability: 'process' })
  const vault = await openModernUpstream({
    tools: [{ name: 'read', inputSchema: { type: 'object' } }],
    results: { read: { content: [{ type: 'text', text: SALARY }] } },
  })
  const withVault = (given: Json): Json => ({
    ...given,
    vault: { url: vault.url, sensitivity: 'confidential', trusted: true },
  })
  const loaded = await load(root, withVault(servers))
  const warnings: string[] = []
  const gateway = await openGateway({
    ...{ state, store, loaded, environment: process.env },
    home: { path: root, origin: 'flag' },
    onWarning: (text) => void warnings.push(text),
  })
  const entryPoints = new EntryPoints(gateway, () => 'a bug')
  const { url } = await entryPoints.openPort({ host: '127.0.0.1', port: 0, noAuth: false })
  gateway.start()
  const tokens = new Map<string, string>()
  const mcp = `${url}/mcp`
  const headers = async (session: string): Promise<Record<string, string>> => {
    const known = tokens.get(session)
    const token = known ?? (await gateway.tokens.mint({ agent: 'tester', profile: 'default', session })).token
    tokens.set(session, token)
    return { authorization: `Bearer ${token}` }
  }
  const request = async (session: string, method: string, params: Json = {}): Promise<Json> =>
    (await modernRequest(mcp, method, params, await headers(session))).message
  const call = (session: string, tool: string, args: Json = {}): Promise<Json> =>
    request(session, 'tools/call', { name: tool, arguments: args })
  return {
    ...{ gateway, mcp, warnings, headers, request, call },
    makePrivate: async (session) => {
      const { result, error } = await call(session, 'vault_read')
      if (result?.content?.[0]?.text !== SALARY) throw new Error(JSON.stringify(result ?? error))
    },
    records: (type) => readRecords(state).filter((record) => record.type === type && record.server !== 'vault'),
    reload: async (changed) => gateway.reload(await load(root, withVault(changed))),
    close: async () => {
      await Promise.all([entryPoints.close(), gateway.close('the test is over')])
      await vault.close()
    },
  }
}

/** Waits until both instances of a server are connected. */
export async function untilPaired({ gateway }: PairedGateway, server = 'data'): Promise<void> {
  await eventually(
    () => [gateway.fleet.get(server)?.status().state, gateway.fleet.get(server)?.counterpart?.status().state],
    (states) => states.every((state) => state === 'ready'),
    50_000,
  )
}

/** A client of the modern era that listens to `notes://all`. */
export interface Listening {
  updates(): number
  stop(): void
}

export async function listen(paired: PairedGateway, session: string): Promise<Listening> {
  const stopping = new AbortController()
  const params = { notifications: { resourceSubscriptions: ['notes://all'] }, _meta: MODERN_ENVELOPE }
  const response = await fetch(paired.mcp, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
      ...(await paired.headers(session)),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
    signal: stopping.signal,
  })
  let text = ''
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
  }
  void read().catch(() => {})
  await eventually(
    () => text,
    (seen) => seen.includes('subscriptions/acknowledged'),
  )
  return { updates: () => text.split('resources/updated').length - 1, stop: () => stopping.abort() }
}
