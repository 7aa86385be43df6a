import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { promise } from '../../../../tests/promises.ts'
import type { HostContext } from './agent-adapter.ts'
import { systemFolders } from './agent-paths.ts'
import { findOverlay } from './overlays.ts'
import { ADAPTERS, findAdapter } from './registry.ts'
import { findFilesWithKey, findOtherServers, projectFolders, type SourceSearch } from './server-sources.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-sources-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): string {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

interface Given extends Pick<Partial<SourceSearch>, 'args' | 'native'> {
  readonly environment?: Readonly<Record<string, string>>
}

function searchIn({ args = [], native = [], environment = {} }: Given = {}): SourceSearch {
  const cwd = join(root, 'work')
  mkdirSync(cwd, { recursive: true })
  const host: HostContext = { environment, platform: 'linux', home: join(root, 'home'), cwd }
  return { host, folders: projectFolders(cwd, args), args, native, servers: [] }
}

const othersOf = (id: string, given?: Given) => findOtherServers(findOverlay(id)?.sources ?? [], searchIn(given))

/** Codex's file for who is logged in, with a token that nobody signed. */
const chatgptLogin = (plan: string): string => {
  const claims = { 'https://api.openai.com/auth': { chatgpt_plan_type: plan } }
  const token = ['{}', JSON.stringify(claims), ''].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return JSON.stringify({ auth_mode: 'chatgpt', tokens: { id_token: token, access_token: 'a', refresh_token: 'r' } })
}

describe('a file that may define servers', () => {
  const wish = { key: 'mcpServers', files: /\.md$/ }
  const escapes = [
    (code: string) => `\\u00${code}`,
    (code: string) => `\\x${code}`,
    (code: string) => `\\U000000${code}`,
  ]

  it('is found in every YAML notation of the key', async () => {
    const letters = fc.array(fc.constantFrom(undefined, ...escapes), { minLength: 10, maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(letters, async (how) => {
        const key = [...wish.key].map((letter, at) => how[at]?.(letter.charCodeAt(0).toString(16)) ?? letter).join('')
        const file = write('agents/helper.md', `---\nname: helper\n"${key}":\n  a: {command: b}\n---\nYou help.\n`)
        expect(await findFilesWithKey(join(root, 'agents'), wish)).toEqual([file])
      }),
      { numRuns: 100 },
    )
  })

  it.each([
    ['a byte order mark and CRLF', '\uFEFF---\r\nname: a\r\nmcpServers: {}\r\n---\r\n'],
    ['blank lines before the head', '\n\n---\nname: a\nmcpServers: {}\n---\n'],
    ['a head that never ends', '---\nname: a\nmcpServers: {}\n'],
    ['a line that only looks like the end', '---\nname: a\n---- x\nmcpServers: {}\n---\n'],
    ['a key over two lines', '---\n? "mcp\\\n  Servers"\n: {}\n---\n'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00]).toString('latin1')],
  ])('is found with %s', async (_, text) => {
    const file = join(root, 'agents/helper.md')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, text.startsWith('\u00FF') ? 'latin1' : 'utf8')
    expect(await findFilesWithKey(join(root, 'agents'), wish)).toEqual([file])
  })

  it('is not one that only mentions them', async () => {
    write('agents/helper.md', `---\n${stringify({ name: 'helper' })}---\nNever touch mcpServers.\n`)
    expect(await findFilesWithKey(join(root, 'agents'), wish)).toEqual([])
  })
})

describe(`${promise('AG-16')} an agent is not started with servers that nobody governs`, () => {
  const head = (key: string): string => `---\nname: helper\n${key}:\n  planted: {command: x}\n---\nYou help.\n`

  it.each([
    ['qwen-code', 'work/.qwen/agents/helper.md', head('mcpServers')],
    ['qwen-code', 'home/.qwen/agents/helper.md', head('mcpServers')],
    ['qwen-code', 'home/.qwen/extensions/e/agents/helper.md', head('mcpServers')],
    ['copilot', 'work/.github/agents/helper.agent.md', head('mcp-servers')],
    ['copilot', '.github/agents/helper.md', head('mcp-servers')],
    ['copilot', 'home/.copilot/agents/helper.md', head('mcp-servers')],
    ['copilot', 'home/.copilot/installed-plugins/m/p/.mcp.json', '{"mcpServers": {}}'],
    ['copilot', 'home/.copilot/installed-plugins/m/p/agents/a.md', head('mcp-servers')],
    ['codex', 'home/.codex/agents/helper.toml', '[mcp_servers.planted]\ncommand = "x"\n'],
    ['codex', 'work/.codex/agents/helper.toml', '["mcp_\\u0073ervers".planted]\ncommand = "x"\n'],
    ['codex', 'home/.codex/environments.toml', '[[environments]]\nid = "far"\nurl = "ws://127.0.0.1:1"\n'],
    ['codex', 'home/.codex/auth.json', chatgptLogin('enterprise')],
    ['codex', 'home/.codex/auth.json', chatgptLogin('a plan that is not known yet')],
    ['codex', 'home/.codex/auth.json', '{"tokens": {"id_token": "unreadable"}}'],
    ['codex', 'home/.codex/auth.json', '{"personal_access_token": "at-1"}'],
    ['opencode', 'home/.local/share/opencode/auth.json', '{"https://x.example": {"type": "wellknown"}}'],
    ['kilo', 'home/.local/share/kilo/auth.json', '{"https://x.example": {"type": "wellknown"}}'],
    ['kimi', 'home/.kimi-code/plugins/managed/p/plugin.json', '{"mcpServers": {}}'],
    ['cline', 'home/.agents/plugins/p/mcp.json', '{"mcpServers": {}}'],
    ['cline', 'home/.cline/plugins/p/index.ts', 'api.registerMcpServer({ name: "planted" })'],
    ['cline', 'work/.cline/plugins/p.js', 'api.registerMcpServer({ name: "planted" })'],
    ['droid', 'home/.factory/plugins/cache/p/mcp.json', '{"mcpServers": {}}'],
    ['amp', 'work/.agents/skills/s/mcp.json', '{"planted": {"command": "x"}}'],
  ])('%s: %s', async (id, path, text) => {
    const file = write(path, text)
    expect(await othersOf(id)).toEqual([file])
  })

  it.each(['CODEX_EXEC_SERVER_URL', 'CODEX_EXEC_SERVER_NOISE_REGISTRY_URL', 'CODEX_ACCESS_TOKEN'])(
    'codex: the variable %s, which names where commands are run or who is logged in',
    async (name) => {
      expect(await othersOf('codex', { environment: { [name]: 'ws://127.0.0.1:1' } })).toEqual([name])
      expect(await othersOf('codex')).toEqual([])
    },
  )

  it.each([chatgptLogin('plus'), '{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-1", "tokens": null}'])(
    'codex: not with the login of one person: %s',
    async (login) => {
      write('home/.codex/auth.json', login)
      expect(await othersOf('codex')).toEqual([])
    },
  )

  it.each([
    ['copilot', 'home/.copilot/settings.json'],
    ['copilot', 'work/.github/copilot/settings.json'],
    ['droid', 'home/.factory/settings.json'],
    ['droid', 'work/.factory/settings.local.json'],
  ])('%s: plugins that %s enables, from a folder or a remote source', async (id, path) => {
    const source = { source: id === 'droid' ? 'local' : 'directory', path: join(root, 'market') }
    const markets = { here: { source }, far: { source: { source: 'github', repo: 'a/b' } } }
    const settings = (name: string) =>
      write(path, JSON.stringify({ enabledPlugins: { [name]: true, off: false }, extraKnownMarketplaces: markets }))
    const servers = write('market/plug/mcp.json', '{"mcpServers": {"planted": {"command": "x"}}}')
    settings('plug@here')
    expect(await othersOf(id)).toEqual([servers])
    write('market/plug/mcp.json', '{}')
    expect(await othersOf(id)).toEqual([])
    const file = settings('plug@far')
    expect(await othersOf(id)).toEqual([`"plug@far" of enabledPlugins in ${file}`])
  })

  it('copilot, droid: not a plugin that is enabled, installed and without servers', async () => {
    const settings = JSON.stringify({ enabledPlugins: { 'plug@far': true } })
    write('home/.copilot/settings.json', settings)
    write('home/.copilot/installed-plugins/far/plug/plugin.json', '{}')
    expect(await othersOf('copilot')).toEqual([])
    write('home/.factory/settings.json', settings)
    const list = { plugins: { 'plug@far': [{ installPath: join(root, 'plug') }] } }
    write('home/.factory/plugins/installed_plugins.json', JSON.stringify(list))
    expect(await othersOf('droid')).toEqual([])
  })

  it.each([
    { plugins: { 'plug@far': [{ installPath: 'plug' }] } },
    { pluginId: 'plug@far', entry: { installPath: 'plug' } },
  ])('droid: a plugin at the path in %j', async (list) => {
    const name = 'plugins' in list ? 'installed_plugins.json' : 'installed_plugins/plug.json'
    const text = JSON.stringify(list).replace(
      '"installPath":"plug"',
      `"installPath":${JSON.stringify(join(root, 'plug'))}`,
    )
    write(`home/.factory/plugins/${name}`, text)
    const servers = write('plug/mcp.json', '{"mcpServers": {}}')
    expect(await othersOf('droid')).toEqual([servers])
  })

  it('droid: settings of an organization from a URL', async () => {
    const environment = { FACTORY_ORG_MANAGED_SETTINGS_URL: 'http://127.0.0.1:1/' }
    expect(await othersOf('droid', { environment })).toEqual(['FACTORY_ORG_MANAGED_SETTINGS_URL'])
  })

  it('goose: a model that is an agent with its own servers', async () => {
    const environment = { GOOSE_PROVIDER: 'codex' }
    expect(await othersOf('goose', { environment })).toEqual(['GOOSE_PROVIDER'])
    expect(await othersOf('goose', { args: ['run', '--provider=gemini-cli'] })).toEqual(['--provider gemini-cli'])
    expect(await othersOf('goose', { args: ['run', '--provider', 'openai'] })).toEqual([])
    const file = { path: '/home/ada/.config/goose/config.yaml', scope: 'user' } as const
    const config = findAdapter('goose')?.getMcpConfig('active_provider: claude-acp\n', file)
    if (!config) throw new Error('no adapter')
    expect(await othersOf('goose', { native: [{ file, config }] })).toEqual([`active_provider in ${file.path}`])
    const more = write('more.yaml', 'GOOSE_PROVIDER: codex\n')
    expect(await othersOf('goose', { environment: { GOOSE_ADDITIONAL_CONFIG_FILES: more } })).toEqual([more])
  })

  it('in a linked folder: the parents of the real folder are searched', async () => {
    const file = write('else/.github/agents/helper.md', head('mcp-servers'))
    write('else/inner/note.txt', '')
    mkdirSync(join(root, 'work'), { recursive: true })
    symlinkSync(join(root, 'else/inner'), join(root, 'work/link'))
    expect(await othersOf('copilot', { args: ['-C', 'link'] })).toEqual([file])
  })

  it('codex: a login that a keyring hides', async () => {
    const file = { path: '/home/ada/.codex/config.toml', scope: 'user' } as const
    const config = findAdapter('codex')?.getMcpConfig('cli_auth_credentials_store = "keyring"\n', file)
    if (!config) throw new Error('no adapter')
    expect(await othersOf('codex', { native: [{ file, config }] })).toEqual([
      'cli_auth_credentials_store in /home/ada/.codex/config.toml, which hides the login',
    ])
  })

  it.each([
    ['codex', ['--worktree', 'fix it'], ['--worktree']],
    ['copilot', ['--resume=before'], ['--resume']],
    ['copilot', ['-r', 'before'], ['-r']],
    ['kimi', ['--session', 'before'], ['--session']],
    ['kimi', ['-Sbefore'], ['-S']],
    ['kimi', ['-r', 'before'], ['-r']],
    ['kimi', ['--resume=before'], ['--resume']],
    ['kimi', ['--continue'], []],
    ['cline', ['--id', 'before'], ['--id']],
    ['droid', ['exec', '-s', 'before', '-r', 'low'], ['-s']],
    ['droid', ['-r'], ['-r']],
    ['droid', ['--fork', 'before'], ['--fork']],
  ])('%s %j: it would work in a folder that is not searched', async (id, args, found) => {
    expect(await othersOf(id, { args })).toEqual(found)
  })

  it.each(['{"mcp": {"serverCommand": "x"}}', '{"mcpServerCommand": "x"}'])(
    'qwen-code: %s in its settings, or in those of the system',
    async (text) => {
      const adapter = findAdapter('qwen-code')
      const file = adapter.nativeFiles(searchIn().host).find(({ scope }) => scope === 'project')
      if (file === undefined) throw new Error('It has a file of the project.')
      const native = [{ file, config: adapter.getMcpConfig(text, file) }]
      expect(await othersOf('qwen-code', { native })).toEqual([file.path])
      const system = write('etc/system.json', text)
      expect(await othersOf('qwen-code', { environment: { QWEN_CODE_SYSTEM_SETTINGS_PATH: system } })).toEqual([system])
    },
  )

  it('qwen-code: a sub-agent of a linked extension', async () => {
    const file = write('elsewhere/agents/helper.md', head('mcpServers'))
    const link = { type: 'link', source: join(root, 'elsewhere') }
    write('home/.qwen/extensions/e/.qwen-extension-install.json', JSON.stringify(link))
    expect(await othersOf('qwen-code')).toEqual([file])
  })

  it('droid: settings for one run', async () => {
    const file = write('run.json', '{"mcp": {"mcpServers": {}}}')
    expect(await othersOf('droid', { args: ['exec', '--settings', file] })).toEqual([file])
    for (const variable of ['FACTORY_RUNTIME_SETTINGS_PATH', 'FACTORY_ORG_MANAGED_SETTINGS_LOCAL_PATH'])
      expect(await othersOf('droid', { environment: { [variable]: file } })).toEqual([file])
    expect(await othersOf('droid', { args: ['--settings', write('other.json', '{"model": "x"}')] })).toEqual([])
  })

  it.each(['kimi.plugin.json', '.kimi-plugin/plugin.json'])(
    'kimi: %s of a plugin that lies elsewhere',
    async (path) => {
      const file = write(`elsewhere/${path}`, '{"mcpServers": {}}')
      write('home/.kimi-code/plugins/installed.json', JSON.stringify({ plugins: [{ root: join(root, 'elsewhere') }] }))
      expect(await othersOf('kimi')).toEqual([file])
    },
  )

  it.each(['--rule', '--model', '--prompt'])('continue: a block that %s names', async (flag) => {
    const file = write('home/block.yaml', 'mcpServers: []')
    for (const value of [file, `file://${file}`, '~/block.yaml', '../home/block.yaml'])
      expect(await othersOf('continue', { args: [flag, value] })).toEqual([file])
    expect(await othersOf('continue', { args: [`${flag}=owner/block`] })).toEqual(['owner/block'])
    const harmless = write('work/rule.yaml', 'rules: [Be brief.]')
    for (const value of [harmless, 'Use tabs and/or spaces.', 'brief'])
      expect(await othersOf('continue', { args: [flag, value] })).toEqual([])
  })

  it('in a folder that an argument names', async () => {
    const file = write('elsewhere/deep/.qwen/agents/helper.md', head('mcpServers'))
    const folder = join(root, 'elsewhere/deep')
    for (const args of [['--dir', folder], [`--cwd=${folder}`], [`-C${folder}`], ['../elsewhere/deep']])
      expect(await othersOf('qwen-code', { args })).toEqual([file])
    expect(await othersOf('qwen-code', { args: ['-p', 'elsewhere'] })).toEqual([])
  })

  const driven = ADAPTERS.flatMap(({ id }) =>
    (findOverlay(id)?.sources ?? [])
      .filter(({ name }) => name === 'a program that drives it')
      .flatMap(({ mechanism }) => mechanism.split(', ').map((word) => [id, word.replaceAll('`', '')] as const)),
  )
  it.each(driven)('%s by a program that gives it servers: %s', async (id, word) => {
    expect(await othersOf(id, { args: [word] })).toEqual([word])
    expect(await othersOf(id, { args: ['do', 'it'] })).toEqual([])
  })

  it('it is started if there are no such servers', async () => {
    for (const { id } of ADAPTERS) expect(await othersOf(id)).toEqual([])
  })
})

describe(`${promise('AG-16')} a server with the name of ours, which would be treated as ours`, () => {
  const isTaken = (): Promise<boolean> | undefined => findOverlay('gemini-cli')?.mayNameServer?.('gw', searchIn())

  it.each([
    ['work/.gemini/agents/helper.md', '---\nname: helper\nmcp_servers:\n  "g\\x77": {command: x}\n---\n'],
    ['home/.gemini/agents/helper.md', '---\nmcp_servers: {gw: {command: x}}\n---\n'],
    ['home/.gemini/extensions/e/gemini-extension.json', '{"mcpServers": {"gw": {"command": "x"}}}'],
    ['elsewhere/agents/helper.md', '---\nmcp_servers: {gw: {command: x}}\n---\n'],
  ])('is found in %s', async (path, text) => {
    const link = { type: 'link', source: join(root, 'elsewhere'), ref: 'a word with gw in it' }
    write('home/.gemini/extensions/linked/.gemini-extension-install.json', JSON.stringify(link))
    expect(await isTaken()).toBe(false)
    write(path, text)
    expect(await isTaken()).toBe(true)
  })
})

it.each([
  ['linux', '/x', '/etc/qwen-code', '/x/etc'],
  ['darwin', '/x', '/Library/Application Support/QwenCode', '/x/etc'],
  ['win32', 'C:\\x', 'C:\\ProgramData\\qwen-code', 'C:\\x\\etc'],
] as const)(
  'settings of the system are looked for where %s has them, and where a variable says',
  (platform, cwd, own, named) => {
    const host: HostContext = { environment: { SETTINGS: 'etc/a.json' }, platform, home: cwd, cwd }
    const names = { name: 'qwen-code', title: 'QwenCode', variables: ['SETTINGS', 'UNSET'] }
    expect(systemFolders(host, names)).toEqual([own, named])
  },
)
