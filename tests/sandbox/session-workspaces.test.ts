import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { npmServer } from '../governance/governed-bench.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { callInSession } from './call-in-session.ts'
import { canSandbox } from './sandbox-world.ts'

const AVAILABLE = canSandbox()
const SECRET = 'Ada earns 520138'

let place: Place
let gateway: RunningGateway

const FILLINGS = {
  'with one file': 'dd if=/dev/zero of=/workspace/big bs=1M count=2000',
  'with many files': 'i=0; while :; do i=$((i+1)); : >/workspace/$i; done',
  'below a path that is too long': `perl -e '$n = "d" x 250; chdir "/workspace"; for (1..20) { mkdir $n; chdir $n } open F, ">big"; print F "x" x 2**20 for 1..2000'`,
  'where nobody may look': 'mkdir /workspace/d; dd if=/dev/zero of=/workspace/d/big bs=1M count=2000',
}

const toSession = (how: string): string => how.replaceAll(' ', '-')

beforeAll(async () => {
  place = makePlace()
  const open = { requires_approval: false }
  place.writeConfig({
    governance: { enforce: true, escalation: { tool_errors: false, upstream_flapping: false } },
    // The arguments of the calls below are what must not be stored.
    audit: { arguments: 'none' },
    sandbox: { limits: { workspace: '64MB' } },
    mcp_servers: {
      files: { ...npmServer('filesystem', '/workspace'), sandbox: 'auto' },
      shell: {
        command: process.execPath,
        args: [join(REPOSITORY, 'tests/fixtures/shell-server.mjs')],
        sandbox: 'auto',
      },
    },
  })
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools: { 'files/*': open, 'shell/*': open } }))
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  const full = Object.keys(FILLINGS).map(toSession)
  for (const session of ['anna', 'ben', 'cleo', 'dora', 'eve', ...full]) await end(session)
  await gateway.stop()
})

const call = (session: string, tool: string, args: object): Promise<string> =>
  callInSession(gateway, { session, tool, args })

const shell = (session: string, script: string): Promise<string> => call(session, 'shell_run', { script })
const write = (session: string, name: string, content: string): Promise<string> =>
  call(session, 'files_write_file', { path: `/workspace/${name}`, content })
const end = (session: string, ...flags: readonly string[]) =>
  runCommand(['sessions', 'end', session, ...flags, '--home', place.home, '--state', place.state])

/** The folders of workspaces in memory that belong to the state of this gateway. */
const inMemory = (): readonly string[] =>
  [process.env.XDG_RUNTIME_DIR, '/dev/shm'].flatMap((parent) =>
    parent !== undefined && existsSync(parent)
      ? readdirSync(parent)
          .filter((name) => name.startsWith('sallyport-'))
          .map((name) => join(parent, name))
          .filter(
            (path) => existsSync(join(path, 'state')) && readFileSync(join(path, 'state'), 'utf8') === place.state,
          )
      : [],
  )

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

describe.skipIf(!AVAILABLE)(`the workspace of a session (${promise('SEN-13')})`, () => {
  it('is seen by all of its servers in sandboxes, and by no other session', async () => {
    await write('anna', 'pay.txt', SECRET)
    expect(await shell('anna', 'cat /workspace/pay.txt; echo done >/workspace/note')).toContain(SECRET)
    expect(await call('anna', 'files_read_text_file', { path: '/workspace/note' })).toContain('done')
    expect(await shell('ben', 'ls -A /workspace')).toBe('\n[0]')
  })

  it(`is on no disk, and private (${promise('SEN-23')})`, () => {
    const [folder = '', ...others] = inMemory()
    expect(others).toEqual([])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(filesIn(folder).some((file) => readFileSync(file, 'utf8').includes(SECRET))).toBe(true)
    expect(filesIn(place.state).filter((file) => readFileSync(file).includes(SECRET))).toEqual([])
  })

  it('survives its processes and a gateway that is killed', async () => {
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    gateway = await runGateway({ place, args: [] })
    expect(await shell('anna', 'cat /workspace/pay.txt')).toContain(SECRET)
  })

  it(`is gone when the session ends, with its processes (${promise('SEN-14')})`, async () => {
    const hung = shell('anna', 'echo started >/workspace/started; sleep 1000')
    const [folder = ''] = inMemory()
    const isStarted = (): boolean => filesIn(folder).some((file) => file.endsWith('/started'))
    await eventually(isStarted, (started) => started)
    expect((await end('anna')).code).toBe(0)
    expect(await hung).toContain('its session has ended')
    expect(
      inMemory()
        .flatMap(filesIn)
        .filter((file) => readFileSync(file, 'utf8').includes(SECRET)),
    ).toEqual([])
    expect(await shell('anna', 'ls -A /workspace')).toBe('\n[0]')
  })

  it('is gone when the session is ended without a gateway', async () => {
    await write('dora', 'pay.txt', SECRET)
    const raised = ['sessions', 'raise', 'dora', 'SECRET', '--home', place.home, '--state', place.state]
    expect((await runCommand(raised)).code).toBe(0)
    gateway.child.kill('SIGTERM')
    await once(gateway.child, 'exit')
    expect(inMemory().flatMap(filesIn).length).toBeGreaterThan(1)
    expect((await end('dora')).code).toBe(0)
    expect(
      inMemory()
        .flatMap(filesIn)
        .filter((file) => readFileSync(file, 'utf8').includes(SECRET)),
    ).toEqual([])
    gateway = await runGateway({ place, args: [] })
  })
})

describe.skipIf(!AVAILABLE)('a program that fills the workspace of its session', () => {
  it.each(Object.entries(FILLINGS))('%s is stopped, and its caller is told why', async (how, script) => {
    // A server that dies often is left alone for a while: each has a process, and deaths, of its own.
    const session = toSession(how)
    const text = await shell(session, `${script}; sleep 1000`)
    expect(text).toContain('sandbox.limits.workspace')
    expect(text).toContain('at most 64 MiB')
    expect(gateway.records()).toContainEqual(expect.objectContaining({ type: 'SANDBOX_STOPPED', server: 'shell' }))
    // It starts again, and may make room.
    await eventually(
      () => shell(session, 'find /workspace -mindepth 1 -delete; find /workspace -type f | wc -l'),
      (answer) => answer.startsWith('0\n'),
    )
  })

  it('below a path that is too long loses its files when the session is purged', async () => {
    const deep = `perl -e '$n = "d" x 250; chdir "/workspace"; for (1..20) { mkdir $n; chdir $n } open F, ">deep"; print F 1'`
    expect(await shell('finn', deep)).toBe('\n[0]')
    const before = inMemory().flatMap((folder) => readdirSync(folder)).length
    expect((await end('finn', '--purge')).code).toBe(0)
    expect(inMemory().flatMap((folder) => readdirSync(folder)).length).toBe(before - 1)
  })

  it('does not end the programs of other sessions', async () => {
    await shell('eve', 'echo 1 >/tmp/mine')
    await shell('cleo', 'dd if=/dev/zero of=/workspace/big bs=1M count=2000; sleep 1000')
    expect(await shell('eve', 'cat /tmp/mine')).toContain('1')
  })
})

describe.skipIf(!AVAILABLE)(`what a crash of the machine left (${promise('SEN-14')})`, () => {
  it('is removed at the next start of the gateway that it belongs to, and nothing of others', async () => {
    const parent = Buffer.byteLength(tmpdir()) > 60 ? '/tmp' : tmpdir()
    const id = inMemory()[0]?.slice(-16)
    const own = mkdtempSync(join(parent, `sallyport-sandbox-${id}-`))
    const other = mkdtempSync(join(parent, 'sallyport-sandbox-0123456789abcdef-'))
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    gateway = await runGateway({ place, args: [] })
    await eventually(
      () => existsSync(own),
      (found) => !found,
    )
    expect(existsSync(other)).toBe(true)
    rmSync(other, { recursive: true })
  })
})
