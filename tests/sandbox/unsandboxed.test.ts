import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { callInSession } from './call-in-session.ts'
import { findLastWritten, type Listener, openListener, startFlood } from './outside-listener.ts'
import { canSandbox } from './sandbox-world.ts'

const RUNNING = join(REPOSITORY, 'tests/fixtures/running-server.mjs')
const EVERYTHING = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const node = process.execPath

let outside: Listener
let place: Place
let gateway: RunningGateway

const free = { sandbox: 'none', allow_unsandboxed: true }

beforeAll(async () => {
  outside = await openListener()
  place = makePlace()
  place.writeConfig({
    governance: { enforce: true, escalation: { policy_violations: false } },
    sandbox: { default: 'auto' },
    mcp_servers: {
      free: { command: node, args: [RUNNING], ...free },
      stubborn: { command: 'sh', args: ['-c', 'trap "" TERM; "$0" "$1"; sleep 1000', node, RUNNING], ...free },
      everything: { command: node, args: [EVERYTHING], ...free },
      boxed: { command: node, args: [RUNNING] },
    },
  })
  const open = { requires_approval: false }
  const tools = ['free', 'stubborn', 'everything', 'boxed'].flatMap((id) => [
    [`${id}/*`, open],
    [`${id}/confidential`, { ...open, sensitivity: 'CONFIDENTIAL' }],
    [`${id}/secret`, { ...open, sensitivity: 'SECRET' }],
  ])
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools: Object.fromEntries(tools) }))
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  await gateway.stop()
  await outside.close()
})

const call = (session: string, tool: string, args: object = {}): Promise<string> =>
  callInSession(gateway, { session, tool, args })
const flood = (session: string, server: string): Promise<void> =>
  startFlood(outside, (command) => call(session, `${server}_run`, { command }))
const count = (type: string, server: string): number =>
  gateway.records().filter((record) => record.type === type && record.server === server).length

describe.skipIf(!canSandbox())(`allow_unsandboxed where a sandbox is the default (${promise('SEN-12')})`, () => {
  it('lets a server run without one, with a process for each session, and says so in the record', async () => {
    expect(await call('anna', 'free_run', { command: ['cat', join(place.home, 'config.yaml')] })).toContain('free')
    expect(await call('anna', 'boxed_run', { command: ['cat', join(place.home, 'config.yaml')] })).not.toContain('free')
    const before = count('SANDBOX_OMITTED', 'free')
    expect(before).toBeGreaterThan(0)
    await call('bert', 'free_run', { command: ['true'] })
    expect(count('SANDBOX_OMITTED', 'free')).toBe(before + 1)
    const where = ['--home', place.home, '--state', place.state]
    expect((await runCommand(['sandbox', ...where])).stdout).toMatch(
      /^free +none +FULL +bert .* what this machine reaches$/m,
    )
    expect((await runCommand(['servers', 'free', ...where])).stdout).toMatch(
      /^sandbox +none \(allow_unsandboxed\): it runs only for sessions without private data$/m,
    )
  })

  it.each(['free', 'stubborn'])('ends it before private data is released (%s)', async (server) => {
    const session = `cleo-${server}`
    await flood(session, server)
    expect(await call(session, 'boxed_secret')).toBe('read secret')
    const released = process.hrtime.bigint()
    const refused = await call(session, `${server}_run`, { command: ['true'] })
    expect(refused).toContain(`[FATAL] server "${server}" cannot run in network mode NONE: it runs without a sandbox`)
    expect(refused).toContain('remove')
    expect(findLastWritten(outside)).toBeGreaterThan(0n)
    expect(findLastWritten(outside)).toBeLessThan(released)
    expect(gateway.records()).toContainEqual(
      expect.objectContaining({
        type: 'SANDBOX_STOPPED',
        server,
        reason: expect.stringContaining('network mode NONE'),
      }),
    )
  })

  it('does not let it read private data itself', async () => {
    await flood('dora', 'free')
    expect(await call('dora', 'free_confidential')).toContain('cannot run in network mode PROXIED')
    const refused = process.hrtime.bigint()
    expect(await call('dora', 'boxed_confidential')).toBe('read confidential')
    expect(findLastWritten(outside)).toBeLessThan(refused)
  })

  it('does not start it for a session that is private already', async () => {
    await call('emil', 'boxed_confidential')
    const before = count('SANDBOX_OMITTED', 'everything')
    expect(await call('emil', 'everything_echo', { message: 'hello' })).toContain('cannot run in network mode PROXIED')
    expect(count('SANDBOX_OMITTED', 'everything')).toBe(before)
    expect(await call('frida', 'everything_echo', { message: 'hello' })).toContain('hello')
    expect(count('SANDBOX_OMITTED', 'everything')).toBe(before + 1)
  })
  it('ends it with its session', async () => {
    await flood('gerd', 'free')
    expect(outside.connections()).toBe(1)
    const where = ['--home', place.home, '--state', place.state]
    expect((await runCommand(['sessions', 'end', 'gerd', ...where])).code).toBe(0)
    await eventually(
      () => outside.connections(),
      (open) => open === 0,
    )
  })
})
