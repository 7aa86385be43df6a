import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder, npmServer } from '../governance/governed-bench.ts'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import {
  endProcess,
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  runGateway,
} from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { callInSession } from './call-in-session.ts'
import { type Listener, openListener } from './outside-listener.ts'
import { canSandbox } from './sandbox-world.ts'

const AVAILABLE = canSandbox()
const SERVER = join(REPOSITORY, 'tests/fixtures/reaching-server.mjs')

let allowed: Listener
let other: Listener
let place: Place
let gateway: RunningGateway
let folder: ReturnType<typeof makeFolder>

const reaching = { command: process.execPath, args: [SERVER] }
const open = { requires_approval: false }

beforeAll(async () => {
  ;[allowed, other] = [await openListener(), await openListener()]
  place = makePlace()
  folder = makeFolder()
  const data = folder.path
  writeFileSync(join(data, 'pay.txt'), 'Ada earns 520138')
  place.writeConfig({
    governance: { enforce: true, escalation: { policy_violations: false } },
    sandbox: { proxied: { allow: [`127.0.0.1:${allowed.port}`] } },
    mcp_servers: {
      reaching: { ...reaching, sandbox: 'auto' },
      closed: {
        ...{ ...reaching, sandbox: 'auto', network: 'none' },
        ...{ forwards: [{ listen: 5_432, to: 'db.test:5432' }], limits: { memory: '512MB', processes: 200 } },
      },
      plain: reaching,
      files: { ...npmServer('filesystem', data), sandbox: 'auto', mounts: [data], sensitivity: 'confidential' },
    },
  })
  writeFileSync(
    join(place.home, 'tools.yaml'),
    JSON.stringify({
      tools: Object.fromEntries(['reaching', 'closed', 'plain', 'files'].map((id) => [`${id}/*`, open])),
    }),
  )
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([allowed.close(), other.close()])
  folder.remove()
})

const call = (session: string, tool: string, args: object = {}): Promise<string> =>
  callInSession(gateway, { session, tool, args })
const reach = (session: string, { port }: Listener, text: string, server = 'reaching'): Promise<string> =>
  call(session, `${server}_reach`, { host: '127.0.0.1', port, text })
const readPay = (session: string): Promise<string> =>
  call(session, 'files_read_text_file', { path: join(folder.path, 'pay.txt') })
const raise = (session: string, level: string) =>
  runCommand(['sessions', 'raise', session, level, '--why', 'a test', '--home', place.home, '--state', place.state])
const recorded = (type: string) => gateway.records().filter((record) => record.type === type)

describe.skipIf(!AVAILABLE)(`a server in a sandbox (${promise('SEN-11')})`, () => {
  it('reaches nothing but its proxy, which the same server outside does not need', async () => {
    const target = { host: '127.0.0.1', port: other.port }
    expect(await call('anna', 'plain_dial', target)).toBe('connected')
    expect(await call('anna', 'reaching_dial', target)).toMatch(/^E/)
    expect(await reach('anna', allowed, 'public-1')).toBe('200')
    expect(await reach('anna', other, 'public-2')).toBe('403')
    expect(allowed.arrived()).toContain('public-1')
    expect(other.arrived()).not.toContain('public-')
  })

  it('is shown as such', async () => {
    const show = async (id: string): Promise<string> =>
      (await runCommand(['servers', id, '--home', place.home, '--state', place.state])).stdout
    const files = await show('files')
    expect(files).toMatch(/^sandbox +auto, its network follows the label of the session$/m)
    expect(files).toContain(folder.path)
    expect(files).toMatch(/^mounts +\//m)
    const closed = await show('closed')
    expect(closed).toMatch(/^sandbox +auto, without a network$/m)
    expect(closed).toMatch(/^forwards +5432 to db\.test:5432$/m)
    expect(closed).toMatch(/^limits +512 MiB of memory, 200 processes$/m)
    expect(await show('plain')).not.toMatch(/^sandbox/m)
  })

  it('is listed with what each of its processes can reach now, or why it is not in a sandbox', async () => {
    const flags = ['--home', place.home, '--state', place.state]
    await call('listed', 'reaching_count')
    await call('listed', 'closed_count')
    const { stdout } = await runCommand(['sandbox', '--json', ...flags])
    const { servers } = JSON.parse(stdout) as { servers: { server: string; reason?: string; processes: object[] }[] }
    const find = (id: string) => servers.find(({ server }) => server === id)
    const host = `127.0.0.1:${allowed.port}`
    const own = { session: 'listed', driver: 'bubblewrap' }
    expect(find('reaching')?.processes).toContainEqual(
      expect.objectContaining({ ...own, mode: 'FULL', reaches: ['public addresses', host] }),
    )
    expect(find('closed')?.processes).toContainEqual(expect.objectContaining({ ...own, mode: 'NONE', reaches: [] }))
    expect(find('plain')).toMatchObject({ processes: [], reason: expect.stringContaining('asks for no sandbox') })
    await raise('listed', 'CONFIDENTIAL')
    const shown = (await runCommand(['sandbox', ...flags])).stdout
    expect(shown).toMatch(new RegExp(`^reaching +bubblewrap +PROXIED +listed .* ${host}$`, 'm'))
    expect((await runCommand(['sandbox', 'check', ...flags])).stdout).toMatch(/^✓ sandbox bubblewrap/)
  })

  it(`has a process for each session (${promise('SEN-24')})`, async () => {
    await call('count-1', 'reaching_count')
    expect(await call('count-1', 'reaching_count')).toBe('2')
    expect(await call('count-2', 'reaching_count')).toBe('1')
  })

  it('sees the folders that its entry mounts, and not the home of the gateway', async () => {
    expect(await readPay('reader')).toContain('Ada earns')
    const listed = await call('reader', 'files_list_directory', { path: place.home })
    expect(listed).not.toContain('config.yaml')
  })

  it(`is recorded with what it wanted to reach (${promise('GOV-24')})`, async () => {
    await reach('recorder', other, 'never')
    expect(recorded('SANDBOX_STARTED')).toContainEqual(
      expect.objectContaining({ server: 'reaching', driver: 'bubblewrap', mode: 'FULL' }),
    )
    expect(recorded('EGRESS_DECIDED')).toContainEqual(
      expect.objectContaining({ server: 'reaching', host: '127.0.0.1', port: other.port, allowed: false }),
    )
  })

  it('without a network never reaches anything, listed or not', async () => {
    expect(await reach('anna', allowed, 'closed-1', 'closed')).toBe('403')
    expect(allowed.arrived()).not.toContain('closed-1')
  })
})

describe.skipIf(!AVAILABLE)(`what a sandbox can reach (${promise('SEN-7')}, ${promise('SEN-9')})`, () => {
  it(`shrinks with the label of its session, while the process and its state live on (${promise('SEN-5')})`, async () => {
    expect(await call('ben', 'reaching_open_tunnel', { host: '127.0.0.1', port: allowed.port })).toBe('open')
    await call('ben', 'reaching_count')
    expect(await readPay('ben')).toContain('Ada earns')
    expect(await reach('ben', allowed, 'confidential-1')).toBe('200')
    expect(await reach('ben', other, 'confidential-2')).toBe('403')
    await call('ben', 'reaching_send', { text: 'tunnel-1' })
    await eventually(
      () => allowed.arrived(),
      (text) => text.includes('tunnel-1'),
    )

    expect((await raise('ben', 'SECRET')).code).toBe(0)
    await call('ben', 'reaching_send', { text: 'tunnel-2' })
    expect(await reach('ben', allowed, 'secret-1')).toBe('403')
    expect(await call('ben', 'reaching_count')).toBe('2')
    expect(allowed.arrived()).not.toMatch(/tunnel-2|secret-1/)
    expect(recorded('SANDBOX_NARROWED')).toContainEqual(
      expect.objectContaining({ server: 'reaching', from: 'PROXIED', to: 'NONE', cut: 1 }),
    )
  })

  it('is no less for other sessions', async () => {
    await readPay('cleo')
    expect(await reach('dora', allowed, 'dora-1')).toBe('200')
    expect(await call('dora', 'plain_count')).toMatch(/^\d+$/)
  })

  it('is what the label says from the start if the label rose before, also after the gateway was killed', async () => {
    await call('eve', 'plain_count')
    expect((await raise('eve', 'SECRET')).code).toBe(0)
    expect(await reach('eve', allowed, 'eve-1')).toBe('403')
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    gateway = await runGateway({ place, args: [] })
    expect(await reach('eve', allowed, 'eve-2')).toBe('403')
    expect(allowed.arrived()).not.toContain('eve-')
  })

  it('does not make a server outside of sandboxes reachable', async () => {
    await readPay('fred')
    expect(await reach('fred', allowed, 'fred-1', 'plain')).toContain('PRIVATE_SESSION')
    expect(allowed.arrived()).not.toContain('fred-1')
  })
})

describe.skipIf(!AVAILABLE)(`a server that cannot be put into a sandbox (${promise('SEN-12')})`, () => {
  it('is not started, and says why and what to do', async () => {
    const config = { mcp_servers: { reaching: { ...reaching, sandbox: 'auto' } } }
    // Only what starts the gateway itself is in this PATH.
    const bin = join(place.home, 'bin')
    mkdirSync(bin)
    const without = await runGateway({ config, env: { PATH: bin } })
    try {
      const { message } = await modernRequest(without.mcp, 'tools/call', { name: 'reaching_count', arguments: {} })
      const text = JSON.stringify(message)
      expect(text).toContain('there is no program bwrap (bubblewrap) in PATH')
      expect(text).toContain('apt-get install bubblewrap')
    } finally {
      await without.stop()
    }
  })
})

describe.skipIf(!AVAILABLE)(`a gateway that is killed (${promise('SEN-14')})`, () => {
  it('leaves no process in a sandbox, and no folder', async () => {
    const config = { mcp_servers: { reaching: { ...reaching, sandbox: 'auto' } } }
    const temporary = join(place.home, 'tmp')
    mkdirSync(temporary)
    const short = temporary.length > 60 ? tmpdir() : temporary
    const before = new Set(readdirSync(short))
    const doomed = await runGateway({ config, env: { TMPDIR: temporary } })
    const { message } = await modernRequest(doomed.mcp, 'tools/call', { name: 'reaching_count', arguments: {} })
    expect(message.result?.content?.[0]?.text).toBeDefined()
    doomed.child.kill('SIGKILL')
    await once(doomed.child, 'exit')
    await eventually(
      () => readdirSync(short).filter((name) => name.startsWith('sallyport-sandbox-') && !before.has(name)),
      (left) => left.length === 0,
    )
    await endProcess(doomed.child)
    doomed.remove()
  })
})

describe.skipIf(!AVAILABLE)('a gateway that is stopped while a sandbox starts', () => {
  it('does not wait for it, and leaves nothing', async () => {
    const bin = join(place.home, 'slow')
    const temporary = join(bin, 't')
    mkdirSync(temporary, { recursive: true })
    writeFileSync(
      join(bin, 'bwrap'),
      '#!/bin/sh\ncase "$*" in *--info-fd*) echo slow >&2; exec sleep 1000;; esac\nexit 0\n',
    )
    chmodSync(join(bin, 'bwrap'), 0o755)
    const config = { gateway: { startup_wait: '1ms' }, mcp_servers: { reaching: { ...reaching, sandbox: 'auto' } } }
    const env = { PATH: `${bin}:${process.env.PATH}`, TMPDIR: temporary }
    const slow = await runGateway({ config, env })
    const where = ['--home', slow.home, '--state', slow.state]
    await eventually(
      async () => (await runCommand(['servers', 'reaching', ...where])).stdout,
      (shown) => shown.includes('slow'),
    )
    const exited = once(slow.child, 'exit')
    slow.child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(slow.records().at(-1)).toMatchObject({ type: 'GATEWAY_STOPPED' })
    expect(readdirSync(temporary)).toEqual([])
    slow.remove()
  })
})
