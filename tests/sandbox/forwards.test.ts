import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { ADMIN, type PostgresServer, startPostgres } from '../harness/postgres-server.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { mintSessionToken } from './call-in-session.ts'
import { canSandbox } from './sandbox-world.ts'

const AVAILABLE = canSandbox()

/** A port outside that leads to a real database, and sees what arrives. */
interface Door {
  readonly port: number
  /** Bytes that have arrived, and connections. */
  readonly arrived: { bytes: number; connections: number }
  readonly server: Server
}

async function openDoor(socketPath: string): Promise<Door> {
  const arrived = { bytes: 0, connections: 0 }
  const server = createServer((client) => {
    arrived.connections++
    const database = connect(socketPath)
    client.on('data', ({ length }) => {
      arrived.bytes += length
    })
    client.on('error', () => database.destroy()).on('close', () => database.destroy())
    database.on('error', () => client.destroy())
    client.pipe(database).pipe(client)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, arrived, server }
}

let postgres: PostgresServer
let listed: Door
let other: Door
let place: Place
let gateway: RunningGateway

beforeAll(async () => {
  if (!AVAILABLE) return
  postgres = await startPostgres()
  const folder = new URL(postgres.url(ADMIN.role, ADMIN.password)).searchParams.get('host') ?? ''
  const socket = join(folder, '.s.PGSQL.5432')
  ;[listed, other] = [await openDoor(socket), await openDoor(socket)]
  place = makePlace()
  const forwards = [
    { listen: 5432, to: `127.0.0.1:${listed.port}` },
    { listen: 5433, to: `127.0.0.1:${other.port}` },
  ]
  place.writeConfig({
    sandbox: { proxied: { allow: [`127.0.0.1:${listed.port}`] } },
    mcp_servers: {
      database: {
        command: process.execPath,
        args: [join(REPOSITORY, 'tests/fixtures/database-server.mjs')],
        env: { USER: ADMIN.role, PASSWORD: ADMIN.password },
        sandbox: 'auto',
        forwards,
      },
    },
  })
  writeFileSync(join(place.home, 'tools.yaml'), '{"tools": {"database/*": {"requires_approval": false}}}')
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  if (!AVAILABLE) return
  await gateway.stop()
  for (const { server } of [listed, other]) await once(server.close(), 'close')
  await postgres.close()
})

async function query(session: string, sql: string, args: object = {}): Promise<string> {
  const token = await mintSessionToken(gateway, session)
  const params = { name: 'database_query', arguments: { sql, ...args } }
  const { message } = await modernRequest(gateway.mcp, 'tools/call', params, { authorization: `Bearer ${token}` })
  const texts = message.result?.content?.map((part: { text?: string }) => part.text)
  return texts?.join('\n') ?? JSON.stringify(message)
}

const raise = async (session: string, level: string): Promise<void> => {
  const { code } = await runCommand(
    ['sessions', 'raise', session, level].concat(['--why', 'a test', '--home', place.home, '--state', place.state]),
  )
  expect(code).toBe(0)
}

describe.skipIf(!AVAILABLE)(`a port of a sandbox that leads to a database (${promise('SEN-10')})`, () => {
  it('carries its protocol, as far as the allow list goes', async () => {
    expect(await query('anna', 'select 6 * 7 as answer')).toBe('[{"answer":42}]')
    expect(await query('anna', 'select 1', { port: 5433 })).toMatch(/not a public address|not on the allow list/)
    expect(other.arrived).toEqual({ bytes: 0, connections: 0 })
  })

  it('does so for confidential data, and ends at once when the label becomes SECRET', async () => {
    await query('ben', 'create temporary table mine as select 1 as one')
    await raise('ben', 'CONFIDENTIAL')
    expect(await query('ben', 'select one from mine')).toBe('[{"one":1}]')
    await raise('ben', 'SECRET')
    const before = { ...listed.arrived }
    expect(await query('ben', 'select one from mine')).not.toContain('"one"')
    expect(await query('ben', 'select 1 as one', { isNew: true })).toContain('NONE')
    expect(listed.arrived).toEqual(before)
  })
})
