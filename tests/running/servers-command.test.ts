import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf, type Outcome, runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const FILES = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
const CONFIG = `# our servers
mcp_servers:
  # the first one
  idle: { url: "http://127.0.0.1:9/mcp", enabled: false } # not yet
`

const commandsOf =
  ({ home, state }: Place) =>
  (...args: string[]): Promise<Outcome> => {
    const at = args.includes('--') ? args.indexOf('--') : args.length
    return runCommand(['servers', ...args.slice(0, at), '--home', home, '--state', state, ...args.slice(at)])
  }

const configOf = ({ home }: Place): string => readFileSync(join(home, 'config.yaml'), 'utf8')

describe(`${promise('CLI-4')} servers are changed by commands`, () => {
  let place: Place
  let run: ReturnType<typeof commandsOf>

  describe('while no gateway runs', () => {
    beforeAll(() => {
      place = makePlace(CONFIG)
      run = commandsOf(place)
    })
    afterAll(() => place.remove())

    it('added with its command, its variables and a header, with the change shown and all comments kept', async () => {
      const added = await run('add', 'files', '--env', 'HOME', '--env', 'MODE=fast', '--', 'node', FILES, '/tmp')
      expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('+   files:') })
      expect(added.stderr).toContain('No gateway runs here')
      await run('add', 'docs', '--url', 'http://127.0.0.1:9/mcp', '--header', 'X-Key: a b', '--disabled')
      const text = configOf(place)
      expect(text).toContain(CONFIG)
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference as it is in the file
      expect(text).toContain('HOME: ${HOME}')
      expect(text).toMatch(/MODE: fast/)
      expect(text).toMatch(/X-Key: "a b"\n {4}enabled: false/)
    })

    it('only shown with --dry-run', async () => {
      const before = configOf(place)
      expect(await run('remove', 'files', '--dry-run')).toMatchObject({
        ...{ code: 0, stdout: expect.stringContaining('-   files:'), stderr: expect.stringContaining('is unchanged') },
      })
      expect(configOf(place)).toBe(before)
    })

    it('enabled, disabled and removed again', async () => {
      await run('enable', 'idle')
      expect(configOf(place)).toMatch(/idle: .*enabled: true.* # not yet/)
      await run('disable', 'idle')
      expect(await run('disable', 'idle')).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('nothing was changed'),
      })
      for (const name of ['files', 'docs']) expect(await run('remove', name)).toMatchObject({ code: 0 })
      expect(configOf(place)).toBe(CONFIG)
    })

    it.each([
      [['add', 'idle', '--', 'node'], 'already has a server "idle"'],
      [['add', 'a b', '--', 'node'], 'cannot be the name of a server'],
      [['add', 'new'], 'Give either a command after --, or --url.'],
      [['add', 'new', '--url', 'http://127.0.0.1:9', '--', 'node'], 'Give either a command after --, or --url.'],
      [['add', 'new', '--header', 'a: b', '--', 'node'], '--header is for servers with --url.'],
      [['add', 'new', '--url', 'http://127.0.0.1:9', '--env', 'A'], '--env is for programs'],
      [['add', 'new', '--env', '1A', '--', 'node'], '--env expects NAME or NAME=value'],
      [['add', 'new', '--url', 'http://127.0.0.1:9', '--header', 'none'], '--header expects "Name: value"'],
      [['add', 'new', '--url', 'not a url'], 'mcp_servers.new.url'],
      [['remove', 'idel'], 'it has no server "idel"'],
      [['restart', 'idle'], 'No gateway runs'],
      [['logs', 'idle'], 'No gateway runs'],
    ])('`servers %j` is refused, and nothing is written', async (args, message) => {
      const refused = await run(...args)
      expect(refused.code).not.toBe(0)
      expect(refused.stderr).toContain(message)
      expect(configOf(place)).toBe(CONFIG)
    })

    it('suggested where a name is nearly right', async () => {
      const at = ['--home', place.home, '--state', place.state, '--json']
      expect(errorOf(await runCommand(['servers', 'remove', 'idel', ...at])).hint).toContain('Did you mean "idle"?')
    })
  })

  describe('while one runs', () => {
    let gateway: RunningGateway

    beforeAll(async () => {
      place = makePlace(CONFIG)
      run = commandsOf(place)
      gateway = await runGateway({ place, args: [] })
    })
    afterAll(() => gateway.stop())

    it('the server is started or stopped at once, the command says how it went, and the log who did it', async () => {
      expect((await run('add', 'files', '--', 'node', FILES, '/tmp')).stderr).toMatch(/✓ files: \d+ tools/)
      expect((await run('disable', 'files')).stderr).toContain('- files is disabled')
      expect((await run('enable', 'files')).stderr).toMatch(/✓ files: \d+ tools/)
      const failed = await run('add', 'absent', '--', 'no-such-program')
      expect(failed.stderr).toMatch(/✗ absent is .*there is no program no-such-program/)
      await run('remove', 'absent')
      const written = gateway.records().filter(({ type }) => type === 'CONFIG_WRITTEN')
      expect(written.map(({ added, removed, changed }) => [added, removed, changed])).toEqual([
        [['files'], [], []],
        [[], [], ['files']],
        [[], [], ['files']],
        [['absent'], [], []],
        [[], ['absent'], []],
      ])
      expect(written.every(({ via }) => via === 'cli')).toBe(true)
    })

    it('a server is restarted, and its output shown', async () => {
      expect((await run('restart', 'files')).stderr).toMatch(/✓ files: \d+ tools/)
      expect((await run('logs', 'files')).stdout).toContain('Filesystem Server running on stdio')
      const [line] = (await run('logs', 'files', '--json')).stdout.split('\n')
      expect(JSON.parse(line ?? '')).toEqual({ server: 'files', line: expect.any(String) })
    })
  })
})
