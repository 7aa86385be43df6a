import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { roundsOf } from '../harness/rounds.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { isToolChange, openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import { callInSession } from './call-in-session.ts'
import { findLastWritten, type Listener, openListener, startFlood } from './outside-listener.ts'
import { canSandbox, probe } from './sandbox-world.ts'

const entryOf = (name: string): string => join(REPOSITORY, 'node_modules', name, 'dist/index.js')
const RUNNING = join(REPOSITORY, 'tests/fixtures/running-server.mjs')
const [EVERYTHING, MEMORY] = ['everything', 'memory'].map((name) => entryOf(`@modelcontextprotocol/server-${name}`))
const SERVERS = ['wide', 'brokered', 'stubborn', 'locked', 'failing', 'everything', 'changing']
const node = process.execPath

let allowed: Listener
let other: Listener
let place: Place
let gateway: RunningGateway

const host = { sandbox: 'auto', network: 'host' }
const config = () => ({
  governance: { enforce: true, escalation: { policy_violations: false } },
  sandbox: { proxied: { allow: [`127.0.0.1:${allowed.port}`] } },
  mcp_servers: {
    wide: { command: node, args: [RUNNING], ...host },
    brokered: { command: node, args: [RUNNING], sandbox: 'auto' },
    // Neither a closed stdin nor SIGTERM ends it.
    stubborn: { command: 'sh', args: ['-c', 'trap "" TERM; "$0" "$1"; sleep 1000', node, RUNNING], ...host },
    // Two of them cannot run at the same time.
    locked: { command: 'flock', args: ['-n', '/workspace/lock', node, RUNNING], ...host },
    // It cannot run where it has a proxy.
    failing: { command: 'sh', args: ['-c', 'test -z "$HTTP_PROXY" && exec "$0" "$1"', node, RUNNING], ...host },
    // What it is told is written down, by a program that is older than all of this.
    everything: {
      command: 'sh',
      args: ['-c', 'tee "/workspace/input.$(date +%s%N)" | "$0" "$1"', node, EVERYTHING],
      ...host,
    },
    changing: {
      command: 'sh',
      args: ['-c', 'if test -z "$HTTP_PROXY"; then exec "$0" "$1"; else exec "$0" "$2"; fi', node, EVERYTHING, MEMORY],
      ...host,
    },
  },
})

beforeAll(async () => {
  ;[allowed, other] = [await openListener(), await openListener()]
  place = makePlace()
  place.writeConfig(config())
  const open = { requires_approval: false }
  const tools = SERVERS.flatMap((id) => [
    [`${id}/*`, open],
    [`${id}/confidential`, { ...open, sensitivity: 'CONFIDENTIAL' }],
    [`${id}/secret`, { ...open, sensitivity: 'SECRET' }],
  ])
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools: Object.fromEntries(tools) }))
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([allowed.close(), other.close()])
})

const call = (session: string, tool: string, args: object = {}): Promise<string> =>
  callInSession(gateway, { session, tool, args })
const run = (session: string, command: readonly string[], server = 'wide'): Promise<string> =>
  call(session, `${server}_run`, { command })
const dial = (session: string, { port }: Listener, server = 'wide'): Promise<string> =>
  run(session, probe('tcp', '127.0.0.1', `${port}`), server)
const get = (session: string, { port }: Listener, server = 'wide'): Promise<string> =>
  run(
    session,
    [
      'curl',
      '-s',
      '--noproxy',
      '',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '-d',
      session,
      `http://127.0.0.1:${port}/`,
    ],
    server,
  )
const flood = (session: string, server = 'wide'): Promise<void> =>
  startFlood(other, (command) => run(session, command, server))
const lastWritten = (): bigint => findLastWritten(other)

describe.skipIf(!canSandbox())(`network: host (${promise('SEN-8')})`, () => {
  it('reaches what this machine reaches, as long as the session is not private', async () => {
    expect(await dial('anna', other)).toBe('yes')
    expect(await get('anna', other, 'brokered')).toBe('403')
    expect(await dial('anna', other, 'brokered')).toMatch(/^no/)
  })

  it('ends before private data is released, and another process has its place and its files', async () => {
    await run('ben', ['sh', '-c', 'echo kept > /workspace/note; echo gone > /tmp/note'])
    await flood('ben')
    expect(await call('ben', 'wide_confidential')).toBe('read confidential')
    const released = process.hrtime.bigint()
    expect(await dial('ben', other)).toMatch(/^no E/)
    expect(await get('ben', allowed)).toBe('200')
    expect(await get('ben', other)).toBe('403')
    expect(await run('ben', ['cat', '/workspace/note', '/tmp/note'])).toMatch(/^kept\ncat: \/tmp\/note/)
    expect(await call('ben', 'brokered_secret')).toBe('read secret')
    expect(await get('ben', allowed)).toBe('403')
    expect(lastWritten()).toBeGreaterThan(0n)
    expect(lastWritten()).toBeLessThan(released)
  })
  it('may answer what it has got, and gets nothing more', async () => {
    await flood('cleo')
    const waiting = run('cleo', ['sh', '-c', 'touch /workspace/begun; sleep 0.7; echo done'])
    await run('cleo', ['sh', '-c', 'until test -e /workspace/begun; do sleep 0.02; done'], 'brokered')
    const secret = call('cleo', 'brokered_secret')
    // Whichever process gets this one, it cannot send any more.
    const later = dial('cleo', other)
    expect(await secret).toBe('read secret')
    const released = process.hrtime.bigint()
    expect(await waiting).toBe('done')
    expect(await later).toMatch(/^no E|^yes$/)
    expect(await dial('cleo', other)).toMatch(/^no E/)
    expect(lastWritten()).toBeLessThan(released)
  })

  it(`ends after two seconds, whatever it does (${promise('SEN-9')})`, async () => {
    await flood('dora', 'stubborn')
    const waiting = run('dora', ['sh', '-c', 'touch /workspace/begun; sleep 1000'], 'stubborn')
    await run('dora', ['sh', '-c', 'until test -e /workspace/begun; do sleep 0.02; done'], 'brokered')
    expect(await call('dora', 'brokered_secret')).toBe('read secret')
    const released = process.hrtime.bigint()
    expect(await waiting).toMatch(/UPSTREAM_NARROWED|before it had to end/)
    expect(await dial('dora', other, 'stubborn')).toMatch(/^no E/)
    expect(lastWritten()).toBeLessThan(released)
  })

  it('is started again when the wide one is gone, if two cannot run at the same time', async () => {
    await run('eve', ['sh', '-c', 'echo kept > /workspace/note'], 'locked')
    await flood('eve', 'locked')
    expect(await call('eve', 'locked_confidential')).toBe('read confidential')
    const released = process.hrtime.bigint()
    expect(await dial('eve', other, 'locked')).toMatch(/^no E/)
    expect(await run('eve', ['cat', '/workspace/note'], 'locked')).toBe('kept')
    const lost = gateway.records().filter(({ type, server }) => type === 'UPSTREAM_LOST' && server === 'locked')
    expect(lost).toEqual([])
    expect(lastWritten()).toBeLessThan(released)
  })

  it('is gone as well if the narrowed one cannot run', async () => {
    await flood('fred', 'failing')
    expect(await call('fred', 'brokered_secret')).toBe('read secret')
    const released = process.hrtime.bigint()
    expect(await dial('fred', other, 'failing')).toMatch(/UPSTREAM_RESTARTING|UPSTREAM_BROKEN|is (restarting|broken)/)
    expect(lastWritten()).toBeLessThan(released)
  })

  it('cannot hand a connection over, since it has no unix sockets', async () => {
    const listen = [
      'sh',
      '-c',
      'socat UNIX-LISTEN:/workspace/socket,fork PIPE >/dev/null 2>&1 & until test -e /workspace/socket; do sleep 0.02; done',
    ]
    await run('gina', listen, 'brokered')
    expect(await run('gina', probe('unix', '/workspace/socket'), 'brokered')).toBe('yes')
    expect(await run('gina', probe('unix', '/workspace/socket'))).toMatch(/^no E(AFNOSUPPORT|ACCES|PERM)/)
    const pair = (type: string): readonly string[] => [
      ...['perl', '-MSocket', '-e'],
      `socketpair(A, B, AF_UNIX, ${type}, 0) or die "no $!\\n"; connect(A, pack_sockaddr_un("/workspace/socket")) and print "connected" or print "paired"`,
    ]
    expect(await run('gina', pair('SOCK_STREAM'))).toBe('paired')
    expect(await run('gina', pair('SOCK_SEQPACKET'))).toBe('paired')
    expect(await run('gina', pair('SOCK_DGRAM'))).toMatch(/^no /)
    expect(await run('gina', pair('SOCK_RAW'))).toMatch(/^no /)
  })

  it('ends once more if the label rises while the next one starts', async () => {
    await flood('ivan')
    await run('ivan', ['true'], 'brokered')
    const raised = [call('ivan', 'brokered_confidential'), call('ivan', 'brokered_secret')]
    expect(await Promise.all(raised)).toEqual(['read confidential', 'read secret'])
    const released = process.hrtime.bigint()
    expect(await get('ivan', allowed)).toBe('403')
    expect(lastWritten()).toBeLessThan(released)
  })

  it('ends for many sessions at once, each before its own data is released', async () => {
    const count = roundsOf({ few: 6, many: 10, all: 20 })
    const sessions = Array.from({ length: count }, (_, at) => `crowd-${at}`)
    await Promise.all(sessions.map((session) => run(session, ['true'])))
    const floods = sessions.slice(0, 5)
    await Promise.all(floods.map((session) => flood(session)))
    expect(await Promise.all(sessions.map((session) => call(session, 'wide_secret')))).toEqual(
      sessions.map(() => 'read secret'),
    )
    const released = process.hrtime.bigint()
    expect(await Promise.all(sessions.map((session) => get(session, allowed)))).toEqual(sessions.map(() => '403'))
    expect(lastWritten()).toBeLessThan(released)
  })

  it('is shown, and recorded', async () => {
    const records = gateway.records()
    const of = (type: string) => records.filter((record) => record.type === type && record.server === 'wide')
    expect(of('SANDBOX_STARTED')).toContainEqual(expect.objectContaining({ mode: 'FULL', network: 'host' }))
    expect(of('SANDBOX_NARROWED')).toContainEqual(
      expect.objectContaining({ from: 'FULL', to: 'PROXIED', cut: 0, ended: true }),
    )
    const where = ['--home', place.home, '--state', place.state]
    expect((await runCommand(['servers', 'wide', ...where])).stdout).toMatch(
      /^sandbox +bubblewrap, it has the network of this machine until its session holds private data$/m,
    )
    const shown = (await runCommand(['sandbox', ...where])).stdout
    expect(shown).toMatch(/^wide +bubblewrap +FULL +anna .* what this machine reaches$/m)
    expect(shown).toMatch(/^wide +bubblewrap +NONE +ben .* nothing$/m)
  })

  it('ends when a changed configuration makes its session private', async () => {
    await flood('lena')
    const where = ['--home', place.home, '--state', place.state]
    await runCommand(['sessions', 'raise', 'lena', 'INTERNAL', '--why', 'a test', ...where])
    expect(await dial('lena', other)).toBe('yes')
    place.writeConfig({ ...config(), labels: { private_from: 'INTERNAL' } })
    await expect.poll(() => dial('lena', other), { timeout: 20_000 }).toMatch(/^no E/)
    const answered = process.hrtime.bigint()
    expect(await get('lena', allowed)).toBe('200')
    expect(lastWritten()).toBeLessThan(answered)
    place.writeConfig(config())
    await eventually(
      () => gateway.records(),
      (records) => records.filter(({ type }) => type === 'CONFIG_RELOADED').length === 2,
    )
    expect(await dial('lena', other), 'it never becomes wider again').toMatch(/^no E/)
  })

  it('is replaced when its entry no longer asks for it, while others go on', async () => {
    await run('jane', ['sh', '-c', 'echo kept > /workspace/note'])
    expect(await dial('jane', other, 'stubborn')).toBe('yes')
    const { wide, ...others } = config().mcp_servers
    place.writeConfig({ ...config(), mcp_servers: { ...others, wide: { ...wide, network: 'brokered' } } })
    await expect.poll(() => dial('jane', other), { timeout: 20_000 }).toMatch(/^no E/)
    expect(await run('jane', ['cat', '/workspace/note'])).toBe('kept')
    expect(await dial('jane', other, 'stubborn')).toBe('yes')
    place.writeConfig(config())
    await expect.poll(() => dial('jane', other), { timeout: 20_000 }).toBe('yes')
  })
})

describe.skipIf(!canSandbox())(`servers of npm with network: host (${promise('SEN-8')})`, () => {
  it('answer before and after their session turns private', async () => {
    expect(await call('hugo', 'everything_get_sum', { a: 2, b: 3 })).toContain('5')
    expect(await call('hugo', 'everything_get_env')).not.toContain('HTTP_PROXY')
    expect(await call('hugo', 'brokered_confidential')).toBe('read confidential')
    expect(await call('hugo', 'everything_get_sum', { a: 3, b: 4 })).toContain('7')
    expect(await call('hugo', 'everything_get_env')).toContain('HTTP_PROXY')
  })

  it('get log level, roots and subscriptions again, and a changed list is announced', async () => {
    const window = openWindow(place)
    const roots = { roots: [{ uri: 'file:///workspace', name: 'workspace' }] }
    try {
      await window.initialize({ roots: { listChanged: true } })
      const answered = window.next(({ method }) => method === 'roots/list')
      const listed = window.call('everything_get_roots_list')
      window.answer((await answered).id, { result: roots })
      expect((await listed).content[0].text).toContain('file:///workspace')
      await window.request('logging/setLevel', { level: 'error' })
      const uri = 'demo://resource/static/document/features.md'
      const { resources } = (await window.request('resources/list')).result
      const shown = resources.find((resource: { uri: string }) => resource.uri.endsWith(uri.slice(7)))
      expect((await window.request('resources/subscribe', { uri: shown.uri })).result).toEqual({})
      await window.call('everything_echo', { message: 'hello' })
      expect(await window.toolNames()).toContain('changing_echo')
      await window.call('changing_echo', { message: 'hello' })
      const changed = window.next(isToolChange)
      const asked = window.next(({ method }) => method === 'roots/list')
      expect((await window.call('brokered_confidential')).content[0].text).toBe('read confidential')
      window.answer((await asked).id, { result: roots })
      expect((await window.call('everything_echo', { message: 'again' })).content[0].text).toContain('again')
      await changed
      expect(await window.toolNames()).not.toContain('changing_echo')
      expect(await window.toolNames()).toContain('changing_read_graph')
      const script =
        'for file in $(ls /workspace/input.*); do grep -o \'"method":"[^"]*"\' $file | tr "\\n" " "; echo; done'
      const { content } = await window.call('brokered_run', { command: ['sh', '-c', script] })
      const [first, second, ...more] = content[0].text.trim().split('\n')
      expect(more).toEqual([])
      for (const process of [first, second])
        expect(process).toMatch(/"initialize".*"logging\/setLevel" "method":"resources\/subscribe"/)
    } finally {
      await window.leave()
    }
  })
})

describe.skipIf(!canSandbox())('a gateway that is killed while a wide process ends', () => {
  it('leaves nothing alive, and the next one knows the label', async () => {
    await flood('kate', 'stubborn')
    const raising = call('kate', 'brokered_secret').catch(() => 'nothing')
    await eventually(
      () => gateway.records(),
      (records) => records.some(({ type, session }) => type === 'SENSITIVITY_RAISED' && session === 'kate'),
    )
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    expect(await raising).toBe('nothing')
    await eventually(
      () => other.connections(),
      (open) => open === 0,
    )
    gateway = await runGateway({ place, args: [] })
    expect(await dial('kate', other, 'stubborn')).toMatch(/^no E/)
  })
})
