import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { type CommandOptions, errorOf, type Outcome, runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

function place(config: object | string = {}): Place {
  const made = makePlace(config)
  undo.push(() => made.remove())
  return made
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sallyport-bad-'))
  undo.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Tries to serve what cannot be served. */
function serve(at: Pick<Place, 'home' | 'state'>, options: CommandOptions = {}, flags = ['--json']): Promise<Outcome> {
  return runCommand(['serve', '--port', '0', '--home', at.home, '--state', at.state, ...flags], options)
}

/** Root reads and writes everything: as somebody else it has to ask. */
const asNobody: CommandOptions =
  process.getuid?.() === 0 ? { through: ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] } : {}

describe(`${promise('GW-13')} a config that cannot be used`, () => {
  const mistakes: readonly (readonly [what: string, config: string, message: RegExp])[] = [
    ['no YAML', 'mcp_servers: {files: [\n', /config\.yaml:\d+:\d+/],
    [
      'a value of the wrong kind',
      'gateway:\n  port: many\n',
      /config\.yaml:2:3 gateway\.port: expected a whole number/,
    ],
    ['a mistyped value', 'gateway:\n  naming: prefixd\n', /config\.yaml:2:3 gateway\.naming: .*"prefixed"/],
    ['one key twice', 'mcp_servers:\n  a: {command: x}\n  a: {command: y}\n', /config\.yaml:3:3/],
    [
      'two names with one id',
      'mcp_servers:\n  my-files: {command: x}\n  My Files: {command: y}\n',
      /config\.yaml:3:3 .*its id would be "my-files", the same as that of mcp_servers\.my-files in line 2/,
    ],
    [
      'a variable that is not set',
      `mcp_servers:\n  a:\n    command: x\n    env: {TOKEN: "\${SALLYPORT_TEST_UNSET}"}\n`,
      /config\.yaml:4:\d+ mcp_servers\.a\.env\.TOKEN: .*SALLYPORT_TEST_UNSET/,
    ],
    [
      'neither a command nor a url',
      'mcp_servers:\n  a: {args: [x]}\n',
      /config\.yaml:2:\d+ mcp_servers\.a: .*"command"/,
    ],
    ['an open address', 'gateway: {host: 0.0.0.0}\n', /config\.yaml:1:\d+ gateway\.host: .*allow_remote/],
  ]

  it.each(mistakes)('is refused with the line and column of the mistake: %s', async (_what, config, message) => {
    const at = place(config)
    const outcome = await serve(at)
    expect(outcome).toMatchObject({ code: 1, stdout: '' })
    expect(errorOf(outcome)).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('docs/configuration.md'),
    })
    expect(readFileSync(join(at.home, 'config.yaml'), 'utf8'), 'the file stays as it is').toBe(config)
  })

  it('is refused with a readable message too, and in the same way through a window', async () => {
    const at = place('gateway:\n  port: many\n')
    const words = await serve(at, {}, [])
    expect(words).toMatchObject({ code: 1, stdout: '' })
    expect(words.stderr).toMatch(/^✗ CONFIG_INVALID .*has one error:\n.*config\.yaml:2:3 gateway\.port/)
    const window = await runCommand(['serve', '--stdio', '--json', '--home', at.home, '--state', at.state])
    expect(window.code).toBe(1)
    expect(errorOf(window)).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('config.yaml:2:3'),
    })
  })

  it('reports all its mistakes at once, and no value of a variable', async () => {
    const at = place(`gateway:\n  port: many\nmcp_servers:\n  a: {url: "\${SECRET_URL}"}\n  b: {}\n`)
    const outcome = await serve(at, { env: { SECRET_URL: 'not-a-url-but-hunter2' } })
    const { message } = errorOf(outcome)
    expect(message).toContain('3 errors')
    for (const key of ['gateway.port', 'mcp_servers.a', 'mcp_servers.b']) expect(message).toContain(key)
    expect(outcome.stderr).not.toContain('hunter2')
  })

  it('only causes a warning for a mistyped key, which names the right one', async () => {
    const running = await runGateway({ config: 'gatway:\n  port: 1\n' })
    undo.push(() => running.stop())
    expect(running.stderr()).toMatch(/config\.yaml:1:1 gatway: .*gateway/)
  })
})

describe('a server whose program does not exist', () => {
  it('is reported with the reason and the fix, and the other servers work', async () => {
    const running = await runGateway({ config: { mcp_servers: { gone: { command: 'no-such-program-anywhere' } } } })
    undo.push(() => running.stop())
    const headers = { authorization: `Bearer ${running.token('operator')}` }
    const shown = await eventually(
      async () =>
        (await fetch(`${running.url}/api/servers/gone`, { headers })).json() as Promise<{ readonly reason?: string }>,
      ({ reason }) => typeof reason === 'string',
    )
    expect(shown.reason).toMatch(/no-such-program-anywhere.*PATH/s)
    const { message } = await modernRequest(running.mcp, 'tools/list')
    expect(JSON.stringify(message)).toContain('sallyport_read_file')
  })
})

describe('a port that is taken', () => {
  it('is refused with the address and the fix, and the state is free again', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    undo.push(() => other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const at = place()
    const args = ['serve', '--json', '--port', String(port), '--home', at.home, '--state', at.state]
    const outcome = await runCommand(args)
    expect(outcome).toMatchObject({ code: 1, stdout: '' })
    expect(errorOf(outcome)).toMatchObject({
      code: 'PORT_UNAVAILABLE',
      message: expect.stringContaining(`127.0.0.1:${port}`),
      hint: expect.stringContaining('--port'),
    })
    expect(processesWith(at.state)).toEqual([])
    const running = await runGateway({ place: { ...at, remove: () => {} } })
    await running.stop()
  })
})

describe('a home', () => {
  it('that does not exist is refused by the name it was given', async () => {
    const at = place()
    const byFlag = await serve({ ...at, home: '/nowhere/home' })
    expect(byFlag.code).toBe(1)
    expect(errorOf(byFlag)).toMatchObject({
      code: 'HOME_UNREADABLE',
      message: expect.stringContaining('/nowhere/home'),
      hint: expect.stringContaining('--home'),
    })
    const env = { SALLYPORT_HOME: '/nowhere/else' }
    const byVariable = await runCommand(['serve', '--json', '--port', '0', '--state', at.state], { env })
    expect(errorOf(byVariable)).toMatchObject({
      code: 'HOME_UNREADABLE',
      hint: expect.stringContaining('SALLYPORT_HOME'),
    })
  })

  it('that is a file is refused', async () => {
    const at = place()
    const file = join(at.home, 'config.yaml')
    const outcome = await serve({ ...at, home: file })
    expect(outcome.code).toBe(1)
    expect(errorOf(outcome)).toMatchObject({ code: 'HOME_UNREADABLE', message: expect.stringContaining(file) })
    expect(errorOf(outcome).hint).toBeTruthy()
  })

  it('that cannot be read is refused with the file and the fix', async () => {
    const at = place()
    const state = folder()
    chmodSync(join(at.home, '..'), 0o755)
    chmodSync(at.home, 0o755)
    chmodSync(state, 0o777)
    chmodSync(join(at.home, 'config.yaml'), 0o000)
    const outcome = await serve({ home: at.home, state: join(state, 'own') }, asNobody)
    expect(outcome.code).toBe(1)
    expect(errorOf(outcome)).toMatchObject({
      code: 'HOME_UNREADABLE',
      message: expect.stringContaining(join(at.home, 'config.yaml')),
    })
    expect(errorOf(outcome).hint).toMatch(/read/i)
  })

  it('that is read-only works: nothing has to be written there', async () => {
    const at = place({ mcp_servers: {} })
    chmodSync(at.home, 0o555)
    undo.push(() => chmodSync(at.home, 0o755))
    const running = await runGateway({ place: { ...at, remove: () => {} } })
    undo.push(() => running.stop())
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
  })
})

describe('a state', () => {
  it.each([
    ['that is a file', (root: string) => join(root, 'file'), 'EEXIST'],
    ['below a file', (root: string) => join(root, 'file', 'below'), 'ENOTDIR'],
  ])('%s is refused with the path and the fix', async (_what, pathIn, errno) => {
    const root = folder()
    writeFileSync(join(root, 'file'), '')
    for (const flags of [['--json'], ['--stdio', '--json']]) {
      const outcome = await serve({ home: place().home, state: pathIn(root) }, {}, flags)
      expect(outcome.code, flags.join()).toBe(1)
      expect(errorOf(outcome)).toMatchObject({
        code: 'STATE_UNUSABLE',
        message: expect.stringMatching(new RegExp(`${pathIn(root)}.*${errno}`)),
        hint: expect.stringContaining('--state'),
      })
    }
  })

  it('that may not be written is refused with the path and the fix', async () => {
    const root = folder()
    chmodSync(root, 0o555)
    const home = place().home
    chmodSync(join(home, '..'), 0o755)
    chmodSync(home, 0o755)
    for (const flags of [['--json'], ['--stdio', '--json']]) {
      const outcome = await serve({ home, state: join(root, 'state') }, asNobody, flags)
      expect(outcome.code, flags.join()).toBe(1)
      expect(errorOf(outcome)).toMatchObject({
        code: 'STATE_UNUSABLE',
        message: expect.stringContaining('EACCES'),
        hint: expect.stringContaining('--state'),
      })
    }
  })
})

describe('a ./.sallyport that came with a folder', () => {
  function project() {
    const cwd = folder()
    const witness = join(cwd, 'started')
    mkdirSync(join(cwd, '.sallyport'))
    const touch = { command: 'sh', args: ['-c', `touch ${witness}; exec cat`] }
    writeFileSync(join(cwd, '.sallyport/config.yaml'), JSON.stringify({ mcp_servers: { touch } }))
    const state = join(folder(), 'state')
    const run = (...args: string[]) => runCommand([...args, '--json', '--state', state], { cwd })
    return { cwd, witness, run }
  }

  it('starts nothing until it is trusted, however it is asked', async () => {
    const { cwd, witness, run } = project()
    const ways = [['serve', '--port', '0'], ['serve', '--stdio'], ['tools', 'list'], ['servers']]
    for (const args of ways) {
      const outcome = await run(...args)
      expect(outcome.code, args.join(' ')).toBe(4)
      expect(errorOf(outcome)).toMatchObject({
        code: 'HOME_UNTRUSTED',
        message: expect.stringContaining(join(cwd, '.sallyport')),
        hint: expect.stringContaining('sallyport trust'),
      })
    }
    expect(() => readFileSync(witness)).toThrow('ENOENT')
  })

  it('asks again after any change, also of a link', async () => {
    const { cwd, run } = project()
    writeFileSync(join(cwd, '.sallyport/config.yaml'), '{}')
    expect((await run('trust', '--yes')).code).toBe(0)
    expect((await run('servers')).code).toBe(0)
    rmSync(join(cwd, '.sallyport/config.yaml'))
    writeFileSync(join(cwd, 'other.yaml'), '{"gateway":{"port":1}}')
    symlinkSync(join(cwd, 'other.yaml'), join(cwd, '.sallyport/config.yaml'))
    const outcome = await run('servers')
    expect([1, 4]).toContain(outcome.code)
    expect(['HOME_UNTRUSTED', 'HOME_UNREADABLE']).toContain(errorOf(outcome).code)
  })
})
