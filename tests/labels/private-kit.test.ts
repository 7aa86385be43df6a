// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration refers to variables.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../governance/governed-bench.ts'
import { createLocalEverything, type EverythingServer } from '../harness/everything-server.ts'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, makePlace, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/forwarded-server.mjs', import.meta.url))
const JWT = { secret: randomBytes(48).toString('base64url'), algorithms: ['HS256'], issuers: ['tests'] }

interface Caller {
  readonly user: string
  readonly session: string
}

/** A token as an identity provider would give it: the same for a kit server alone and for the gateway. */
function tokenOf({ user, session }: Caller): string {
  const exp = Math.floor(Date.now() / 1_000) + 3_600
  const claims = { iss: 'tests', sub: user, session_id: session, exp }
  const encoded = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  return [...encoded, createHmac('sha256', JWT.secret).update(encoded.join('.')).digest('base64url')].join('.')
}

/** One way to a server of the kit. */
interface Leg {
  open(caller: Caller): Promise<LegacyClient>
  /** The tools of the server have this prefix. */
  readonly prefix: string
  /** Kills what holds state, in turn, and starts it again. */
  readonly restarts: Readonly<Record<string, () => Promise<void>>>
  close(): Promise<void>
}

async function startHttpServer(auth: object, data: string, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FIXTURE, '--http'], {
    env: {
      ...{ PATH: process.env.PATH, AUTH: JSON.stringify(auth), PORT: String(port) },
      ...{ SALLYPORT_DATA: data, SALLYPORT_KEYS: process.env.SALLYPORT_KEYS },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> }), 'line')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const connect = (url: string, caller: Caller): Promise<LegacyClient> =>
  LegacyClient.open(url, { authorization: `Bearer ${tokenOf(caller)}` })

async function openAlone(): Promise<Leg> {
  const folder = makeFolder()
  const port = await findLastingPort()
  const start = () => startHttpServer({ jwt: JWT }, folder.path, port)
  let child = await start()
  const restart = async (): Promise<void> => {
    await kill(child)
    child = await start()
  }
  return {
    prefix: '',
    open: (caller) => connect(`http://127.0.0.1:${port}/mcp`, caller),
    restarts: { 'the server': restart },
    close: async () => {
      await endProcess(child)
      folder.remove()
    },
  }
}

let outside: EverythingServer

async function openBehind(how: 'stdio' | 'per session' | 'http'): Promise<Leg> {
  const folder = makeFolder()
  const [kitPort, port] = [await findLastingPort(), await findLastingPort()]
  const env = { SALLYPORT_DATA: folder.path }
  const common = { identity: 'forward', trusted: true }
  const stdio = { ...common, command: process.execPath, args: [FIXTURE], env }
  const place = makePlace({
    gateway: { port },
    auth: { jwt: { ...JWT, secret: '${JWT_SECRET}' } },
    governance: { enforce: true, escalation: { policy_violations: false } },
    context: { cap: 4_000 },
    mcp_servers: {
      kit:
        how === 'http'
          ? { ...common, url: `http://127.0.0.1:${kitPort}/mcp` }
          : { ...stdio, per: how === 'stdio' ? 'gateway' : 'session' },
      outside: outside.entry,
    },
  })
  const open = { requires_approval: false }
  const tools = ['kit/whoami', 'kit/write', 'kit/files', 'kit/load', 'kit/post', 'kit/search', 'outside/echo']
  writeFileSync(
    join(place.home, 'tools.yaml'),
    JSON.stringify({ tools: Object.fromEntries(tools.map((t) => [t, open])) }),
  )
  const keys = join(folder.path, 'keys')
  const startGateway = (): Promise<RunningGateway> =>
    runGateway({ place, args: [], port: 'of the home', env: { JWT_SECRET: JWT.secret, SALLYPORT_KEYS: keys } })
  let gateway = await startGateway()
  const jwksUri = `http://127.0.0.1:${port}/.well-known/jwks.json`
  const startKit = () => startHttpServer({ gateway: { jwksUri, audience: 'kit' } }, folder.path, kitPort)
  let kit = how === 'http' ? await startKit() : undefined
  const restartGateway = async (): Promise<void> => {
    await kill(gateway.child)
    gateway = await startGateway()
  }
  const restartServer = async (): Promise<void> => {
    if (kit !== undefined) {
      await kill(kit)
      kit = await startKit()
      return
    }
    const view = await statusOf(gateway)
    if (view.pid !== undefined) process.kill(view.pid, 'SIGKILL')
    await eventually(
      () => statusOf(gateway),
      ({ state, pid }) => state === 'ready' && pid !== view.pid,
    )
  }
  return {
    prefix: 'kit_',
    open: (caller) => connect(`http://127.0.0.1:${port}/mcp`, caller),
    restarts: { 'the server': restartServer, 'the gateway': restartGateway },
    close: async () => {
      await gateway.stop()
      if (kit !== undefined) await endProcess(kit)
      folder.remove()
    },
  }
}

async function statusOf(gateway: RunningGateway): Promise<{ readonly pid?: number; readonly state: string }> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  const { servers } = (await (await fetch(`${gateway.url}/api/servers`, { headers })).json()) as {
    servers: { id: string; pid?: number; state: string }[]
  }
  return servers.find(({ id }) => id === 'kit') ?? { state: 'missing' }
}

const ADA = { user: 'ada', session: 'one' }
const BOB = { user: 'bob', session: 'one' }
const ADA_AGAIN = { user: 'ada', session: 'two' }

const LEGS: Readonly<Record<string, () => Promise<Leg>>> = {
  'alone over HTTP': openAlone,
  'behind the gateway over stdio': () => openBehind('stdio'),
  'behind the gateway, a process for each session': () => openBehind('per session'),
  'behind the gateway over HTTP': () => openBehind('http'),
}

/** A server may need a moment to be there again; nothing else is repeated. */
const isStarting = (text: string): boolean => /UPSTREAM_(STARTING|RESTARTING|GONE|DIED|UNAVAILABLE)|ECONN/.test(text)

beforeAll(() => {
  outside = createLocalEverything()
})
afterAll(() => outside.close())

describe.each(Object.entries(LEGS))(`a server of the kit %s (${promise('SEN-22')})`, (name, openLeg) => {
  let leg: Leg
  const call = async (caller: Caller, tool: string, args: object = {}): Promise<string> =>
    eventually(
      async () => JSON.stringify(await (await leg.open(caller)).call(tool, args)),
      (text) => !isStarting(text),
    )
  const ask = (caller: Caller, tool: string, args: object = {}) => call(caller, `${leg.prefix}${tool}`, args)

  beforeAll(async () => {
    leg = await openLeg()
  })
  afterAll(() => leg.close())

  it(`knows who calls (${promise('SEN-19')})`, async () => {
    for (const caller of [ADA, BOB, ADA_AGAIN]) {
      const answer = await ask(caller, 'whoami')
      expect(answer).toContain(caller.user)
      expect(answer).toContain(caller.session)
    }
  })

  it('keeps the files of each user and session apart', async () => {
    await ask(ADA, 'write', { text: 'of ada' })
    expect(await ask(ADA, 'files')).toContain('note')
    expect(await ask(BOB, 'files')).not.toContain('note')
    expect(await ask(ADA_AGAIN, 'files')).not.toContain('note')
  })

  it(`gives each session its own stored results (${promise('SEN-21')})`, async () => {
    const shown = await ask(ADA, 'search')
    const [, reader = '', handle = ''] = /(\w*read_result) with handle (\w+)/.exec(shown) ?? []
    expect(await call(ADA, reader, { handle, lines: '1-2' }), shown).toContain('a line')
    for (const other of [BOB, ADA_AGAIN])
      expect(await call(other, reader, { handle, lines: '1-2' })).not.toContain('a line')
  })

  it(`refuses what reaches out once the session has private data, and for nobody else (${promise('SEN-20')})`, async () => {
    expect(await ask(ADA, 'post')).toContain('posted')
    expect(await ask(ADA, 'load')).toContain('salaries')
    expect(await ask(ADA, 'post')).toContain('holds private data')
    for (const other of [BOB, ADA_AGAIN]) expect(await ask(other, 'post')).toContain('posted')
  })

  it('refuses it at other servers, too', async () => {
    if (leg.prefix === '') return
    expect(await call(ADA, 'outside_echo', { message: `${name}: the salaries` })).toContain('PRIVATE_SESSION')
    expect(await call(BOB, 'outside_echo', { message: `${name}: the weather` })).toContain('Echo')
    expect(outside.receivedText()).not.toContain(`${name}: the salaries`)
  })

  it('forgets neither label nor files if it, or the gateway, is killed', async () => {
    for (const [what, restart] of Object.entries(leg.restarts)) {
      await restart()
      expect(await ask(ADA, 'post'), what).toContain('holds private data')
      expect(await ask(ADA, 'files'), what).toContain('note')
      expect(await ask(BOB, 'files'), what).not.toContain('note')
      expect(await ask(BOB, 'post'), what).toContain('posted')
    }
  })
})
