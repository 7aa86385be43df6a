// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { EventEmitter, once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { catchError, temporaryFolder } from '../home/home.test-kit.ts'
import { readHome } from '../home/home-content.ts'
import { checkTrust, recordTrust } from '../home/trust.ts'
import { watchSettings } from '../home/watch-settings.ts'
import { loadSettings } from '../load-settings.ts'
import { describeIssue } from '../reading/config-issue.ts'

const ENVIRONMENT = { HOME: '/home/ann', TOKEN: 'a value of the test' }

/** Creates a home beside a folder of Gemini CLI. */
async function homeIncluding(settings: object | string, config = 'include: [../.gemini/settings.json]') {
  const root = await temporaryFolder()
  const [home, folder] = [join(root, 'home'), join(root, '.gemini')]
  for (const one of [home, folder]) await mkdir(one)
  const file = join(folder, 'settings.json')
  await writeFile(file, typeof settings === 'string' ? settings : JSON.stringify(settings, undefined, 2))
  await writeFile(join(home, 'config.yaml'), config)
  return { home, file, state: root }
}

const load = (home: string) => loadSettings({ home, environment: ENVIRONMENT })

describe('an included file', () => {
  it('cannot widen the sandbox that the home asks for', async () => {
    const mcpServers = {
      plain: { command: 'a' },
      closed: { command: 'b', network: 'none' },
      outside: { command: 'c', sandbox: 'none', allow_unsandboxed: true },
      wide: { command: 'd', mounts: ['/srv/payroll'] },
      host: { command: 'e', network: 'host' },
    }
    const config = 'include: [../.gemini/settings.json]\nsandbox: {default: auto}'
    const { home } = await homeIncluding({ mcpServers }, config)
    const { settings, warnings } = await load(home)
    expect(settings.servers).toMatchObject([
      { id: 'plain', sandbox: { network: 'brokered', mounts: [] } },
      { id: 'closed', sandbox: { network: 'none', mounts: [] } },
    ])
    expect(warnings.map(describeIssue).join()).toMatch(
      /"allow_unsandboxed" is not allowed in the file of an agent.*"mounts" is not allowed in .*"network" is not allowed in/,
    )
  })

  it(`adds its servers, with their isolation settings (${promise('ISO-1')})`, async () => {
    const { home, file } = await homeIncluding({
      theme: 'dark',
      mcpServers: {
        database: { command: 'npx', args: ['db', '--key=$TOKEN', '$UNSET'], isolatedTools: ['query'], trust: true },
        'external api': { httpUrl: 'https://host.example/mcp', isolated: true, headers: { 'X-Key': '${TOKEN}' } },
        old: { url: 'https://host.example/sse' },
      },
    })
    const before = await readFile(file)
    const { settings, warnings } = await load(home)
    expect(warnings.map(describeIssue)).toEqual([])
    expect(settings.servers).toMatchObject([
      {
        id: 'database',
        args: ['db', `--key=${ENVIRONMENT.TOKEN}`, '$UNSET'],
        isolated: false,
        isolatedTools: ['query'],
      },
      { id: 'external-api', title: 'external api', kind: 'http', isolated: true },
      { id: 'old', kind: 'sse', isolated: false, isolatedTools: [] },
    ])
    expect(settings.servers[0]?.location).toEqual({ file, line: 4 })
    expect(await readFile(file)).toEqual(before)
  })

  it('may contain comments', async () => {
    const { home } = await homeIncluding(
      '// mine\n{ /* some */ "mcpServers": { "a": { "command": "x", "args": ["http://y"] }, } }',
    )
    expect((await load(home)).settings.servers).toMatchObject([{ id: 'a', args: ['http://y'] }])
  })

  it(`reports errors with file and line, and leaves out only the servers that have them (${promise('ISO-1')})`, async () => {
    const { home } = await homeIncluding({
      mcpServers: {
        a: { command: 'x', isolated: 'yes' },
        b: { command: 'x', isolatedTools: 'query' },
        c: { command: 'x', env: { KEY: '${NO_SUCH_VARIABLE}' } },
        d: { command: 'x' },
      },
    })
    const { settings, warnings } = await load(home)
    expect(settings.servers.map(({ id }) => id)).toEqual(['d'])
    const output = warnings.map(describeIssue)
    expect(output).toEqual([
      expect.stringContaining('settings.json:5:7 mcpServers.a.isolated: expected true or false'),
      expect.stringContaining('settings.json:9:7 mcpServers.b.isolatedTools: expected a list'),
      expect.stringMatching(
        /settings\.json:14:9 mcpServers\.c\.env\.KEY: .*NO_SUCH_VARIABLE.* The server is left out\./,
      ),
    ])
  })

  it.each([
    ['{"mcpServers": {"a": ', 'settings.json:1:'],
    ['{"mcpServers": [1]}', 'settings.json:1:2 mcpServers: expected a mapping of names to servers'],
  ])('that cannot be read is an error of the config: %s', async (text, problem) => {
    const { home } = await homeIncluding(text)
    expect((await catchError(load(home))).message).toContain(problem)
  })

  it.each([
    ['include: [nowhere.json]', 'config.yaml:1:11 include: "nowhere.json": there is no such file.'],
    ['include: [.]', 'this is not a regular file.'],
    ['include: [{a: 1}]', 'expected a list of files'],
    ['{"include": [5]}', 'expected a list of files'],
  ])('that does not exist or cannot be read is reported: %s', async (config, problem) => {
    const { home } = await homeIncluding('{}', config)
    expect((await catchError(load(home))).message).toContain(problem)
  })

  it('never makes this gateway one of its own servers', async () => {
    const { home } = await homeIncluding({
      mcpServers: {
        gw: { command: 'npx', args: ['-y', 'sallyport', 'serve', '--stdio'] },
        http: { httpUrl: 'http://localhost:4747/mcp' },
      },
    })
    expect((await load(home)).settings.servers).toEqual([])
  })

  it('yields to the config if both have the same server, and renames another server with that name', async () => {
    const { home } = await homeIncluding(
      { mcpServers: { same: { command: 'x', isolated: true }, other: { command: 'y' }, sallyport: { command: 'z' } } },
      'mcp_servers: {same: {command: x}, other: {command: x}}\ninclude: ../.gemini/settings.json',
    )
    const { settings, warnings } = await load(home)
    expect(settings.servers.map(({ id, isolated }) => [id, isolated])).toEqual([
      ['same', false],
      ['other', false],
      ['other-gemini', false],
      ['sallyport-gemini', false],
    ])
    expect(warnings.map(describeIssue).join()).toContain(
      'there is another server named "other": this one is renamed to "other-gemini"',
    )
  })

  it('is covered by the trust in a project home', async () => {
    const { home: path, file, state } = await homeIncluding({ mcpServers: {} })
    const question = async () => ({ home: { path, origin: 'project' } as const, content: await readHome(path), state })
    await recordTrust(await question())
    expect(await checkTrust(await question())).toBe('trusted')
    await writeFile(file, JSON.stringify({ mcpServers: { evil: { command: 'x' } } }))
    expect(await checkTrust(await question())).toBe('changed')
  })

  it('is watched like the config', async () => {
    const { home, file } = await homeIncluding({ mcpServers: { a: { command: 'x' } } })
    const changes = new EventEmitter()
    const watch = watchSettings({
      home,
      environment: ENVIRONMENT,
      current: await load(home),
      onChange: (change) => changes.emit('change', change),
    })
    onTestFinished(() => watch.close())
    const changed = once(changes, 'change')
    await writeFile(file, JSON.stringify({ mcpServers: { b: { command: 'x', isolated: true } } }))
    const [change] = await changed
    expect(change).toMatchObject({ ok: true, loaded: { settings: { servers: [{ id: 'b', isolated: true }] } } })
  })
})
