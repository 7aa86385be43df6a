import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../governance/governed-bench.ts'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { endProcess, makePlace, type Place, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/forwarded-server.mjs', import.meta.url))
const JWT_SECRET = randomBytes(48).toString('base64url')
const CANARY = `Ada earns ${randomBytes(9).toString('hex')}`
const OPEN = { requires_approval: false }
const SERVERS = ['shared', 'single', 'remote'] as const

let folder: ReturnType<typeof makeFolder>
let place: Place
let gateway: RunningGateway
let port: number
let remote: ChildProcess

const dataOf = (server: string): string => join(folder.path, server)

/** The files in the data of all servers that contain the text. */
const findCanary = (): readonly string[] =>
  SERVERS.flatMap((server) =>
    existsSync(dataOf(server)) ? readdirSync(dataOf(server), { recursive: true, withFileTypes: true }) : [],
  )
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path, 'latin1').includes(CANARY))

const listWorkspaces = (server: string): readonly string[] => readdirSync(join(dataOf(server), 'workspaces'))

async function startRemote(): Promise<void> {
  const auth = { gateway: { jwksUri: `${gateway.url}/.well-known/jwks.json`, audience: 'remote' } }
  remote = spawn(process.execPath, [FIXTURE, '--http'], {
    env: {
      ...{ PATH: process.env.PATH, AUTH: JSON.stringify(auth), PORT: String(port) },
      ...{ SALLYPORT_DATA: dataOf('remote'), SALLYPORT_KEYS: join(folder.path, 'keys') },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface({ input: remote.stdout as NonNullable<ChildProcess['stdout']> }), 'line')
}

const start = (): Promise<RunningGateway> =>
  runGateway({ place, args: [], env: { SALLYPORT_KEYS: join(folder.path, 'keys') } })

function tokenOf(session: string): string {
  const claims = { sub: 'ada', session_id: session, exp: Math.floor(Date.now() / 1_000) + 3_600 }
  const encoded = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  return [...encoded, createHmac('sha256', JWT_SECRET).update(encoded.join('.')).digest('base64url')].join('.')
}

async function open(session: string): Promise<LegacyClient> {
  return LegacyClient.open(gateway.mcp, { authorization: `Bearer ${tokenOf(session)}` })
}

async function textOf(client: LegacyClient, tool: string, args: object = {}): Promise<string> {
  const { message } = await client.request('tools/call', { name: tool, arguments: args })
  return JSON.stringify(message)
}

const endSession = (session: string) =>
  runCommand(['sessions', 'end', session, '--purge', '--user', 'ada', '--home', place.home, '--state', place.state], {
    env: { SALLYPORT_KEYS: join(folder.path, 'keys') },
  })

beforeAll(async () => {
  folder = makeFolder()
  place = makePlace()
  port = await findLastingPort()
  const program = (server: string) => ({
    ...{ command: process.execPath, args: [FIXTURE], trusted: true, identity: 'forward' },
    env: { SALLYPORT_DATA: dataOf(server), SALLYPORT_KEYS: join(folder.path, 'keys') },
  })
  place.writeConfig({
    auth: { jwt: { secret: JWT_SECRET } },
    governance: { enforce: true, defaults: { medium: OPEN, high: OPEN } },
    mcp_servers: {
      shared: program('shared'),
      single: { ...program('single'), per: 'session' },
      remote: { url: `http://127.0.0.1:${port}/mcp`, trusted: true, identity: 'forward' },
      other: {
        command: process.execPath,
        args: [fileURLToPath(new URL('../fixtures/echoing-server.mjs', import.meta.url))],
      },
    },
  })
  gateway = await start()
  await startRemote()
  await untilReady()
})

afterAll(async () => {
  await gateway.stop()
  await endProcess(remote)
  folder.remove()
})

/** The gateway tries again soon. */
const untilReady = (): Promise<unknown> =>
  eventually(
    async () => textOf(await open('probe'), 'remote_whoami'),
    (text) => text.includes('probe'),
  )

/** The session is private, and has a note at each server. */
async function writeNotes(session: string): Promise<LegacyClient> {
  const client = await open(session)
  await eventually(
    () => textOf(client, 'shared_load'),
    (text) => text.includes('salaries'),
  )
  for (const server of SERVERS)
    await eventually(
      () => textOf(client, `${server}_write`, { text: CANARY }),
      (text) => !text.includes('isError'),
    )
  return client
}

describe(`a private session with files at servers of the kit (${promise('SEN-23')})`, () => {
  it('has them encrypted, and `sessions end --purge` removes them at each server at once', async () => {
    const client = await writeNotes('s1')
    const kept = await writeNotes('s2')
    expect(findCanary()).toEqual([])
    const before = SERVERS.map((server) => listWorkspaces(server).length)
    const { stdout, stderr, code } = await endSession('s1')
    expect([code, stderr + stdout]).toEqual([0, expect.stringMatching(/Server remote has removed 1 stored file/)])
    for (const server of SERVERS) expect(stdout + stderr).toContain(`Server ${server} has removed 1 stored file`)
    expect(SERVERS.map((server) => listWorkspaces(server).length)).toEqual(before.map((count) => count - 1))
    // Its windows are still open: they store nothing more.
    for (const server of SERVERS) {
      expect(await textOf(client, `${server}_write`, { text: CANARY })).toContain('has ended')
      expect(await textOf(kept, `${server}_files`)).toContain('note')
    }
    expect(SERVERS.map((server) => listWorkspaces(server).length)).toEqual(before.map((count) => count - 1))
  })

  it('of which a server is down says so, and it is asked again, also by a gateway that was killed meanwhile', async () => {
    await writeNotes('s3')
    await endProcess(remote)
    const { stdout, stderr } = await endSession('s3')
    expect(stdout + stderr).toMatch(/Server shared has removed 1 stored file/)
    expect(stdout + stderr).toMatch(/! Server remote may still have data of this session: .*asks it again/)
    const left = listWorkspaces('remote').length
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    gateway = await start()
    await startRemote()
    await eventually(
      async () => listWorkspaces('remote').length,
      (count) => count === left - 1,
    )
  })

  it('that is ended without a gateway is removed at the servers when one starts', async () => {
    await writeNotes('s4')
    await endProcess(gateway.child)
    const { stdout, stderr } = await endSession('s4')
    expect(stdout + stderr).toMatch(/No gateway runs. At its next start/)
    const left = listWorkspaces('shared').length
    gateway = await start()
    await eventually(
      async () => listWorkspaces('shared').length,
      (count) => count === left - 1,
    )
  })
})

it(`a purge cannot be asked for by a client, nor by a token of a call (${promise('SEN-19')})`, async () => {
  const client = await writeNotes('s5')
  const { message } = await client.request('sallyport/purge_session', {})
  expect(JSON.stringify(message)).toMatch(/-32601/)
  expect(await textOf(client, 'shared_files')).toContain('note')
})
