import { isJsonObject, type JsonObject } from '@sallyport/core'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { HostContext } from './agent-adapter.ts'
import type { Overlay, ParsedNativeFile } from './agent-overlay.ts'
import { findOverlay } from './overlays.ts'
import { ADAPTERS, findAdapter } from './registry.ts'
import { findOtherServers } from './server-sources.ts'

const PLACE: HostContext = { environment: {}, platform: 'linux', home: '/home/me', cwd: '/home/me/project' }
const WINDOW = { command: '/usr/bin/node', args: ['/main.js', 'serve', '--stdio', '--launch', '/state/runs/1'] }
const RUNNABLE = ADAPTERS.filter(({ id }) => findOverlay(id) !== undefined).map(({ id }) => id)

interface Case {
  readonly args?: readonly string[]
  readonly native?: readonly ParsedNativeFile[]
  readonly environment?: HostContext['environment']
}

function overlayFor(id: string, { args = [], native = [], environment = {} }: Case = {}): Overlay {
  const overlay = findOverlay(id)
  if (overlay === undefined) throw new Error(`${id} has no overlay`)
  return overlay.overlay({
    ...{ folder: '/state/runs/1', host: { ...PLACE, environment }, args, native },
    servers: [{ name: 'gw', entry: overlay.createEntry(WINDOW) }],
    ours: ['gw'],
  })
}

/** The user's own file of an agent, with a server in it that has a key. */
function ownFile(id: string, text: string, scope: 'user' | 'project' = 'user'): ParsedNativeFile {
  const adapter = findAdapter(id)
  const file = adapter.nativeFiles(PLACE).find((one) => one.scope === scope) ?? { path: '/none', scope }
  return { file, config: adapter.getMcpConfig(text, file) }
}

describe(`${promise('GOV-20')} a person sits in front of an agent`, () => {
  it.each([
    ['claude-code', [], true],
    ['claude-code', ['fix the tests'], true],
    ['claude-code', ['-p', 'fix the tests'], false],
    ['claude-code', ['--print'], false],
    ['codex', ['-m', 'gpt', 'fix the tests'], true],
    ['codex', ['exec', 'fix the tests'], false],
    ['codex', ['-m', 'gpt', 'e', 'fix the tests'], false],
    ['copilot', [], true],
    ['copilot', ['--prompt=x'], false],
    // It ends when a server asks something.
    ['goose', [], undefined],
  ])('%s %j: %s', (id, args, attended) => {
    expect(findOverlay(id)?.isAttended?.(args)).toBe(attended)
  })
})

const OWN: Readonly<Record<string, string>> = {
  amp: '{"amp.mcpServers": {"own": {"command": "own-program", "env": {"KEY": "own-key"}}}, "amp.theme": "mine"}',
  cline: '{"mcpServers": {"own": {"command": "own-program", "env": {"KEY": "own-key"}}}}',
  codex: '[mcp_servers.own]\ncommand = "own-program"\nenv = { KEY = "own-key" }\n',
  continue:
    '{"name": "me", "models": ["mine"], "mcpServers": [{"name": "own", "command": "own-program", "env": {"KEY": "own-key"}}]}',
  crush: '{"mcp": {"own": {"type": "stdio", "command": "own-program", "env": {"KEY": "own-key"}}}}',
  goose: '{"extensions": {"own": {"type": "stdio", "cmd": "own-program", "envs": {"KEY": "own-key"}}}}',
  kilo: '{"mcp": {"own": {"type": "local", "command": ["own-program"], "environment": {"KEY": "own-key"}}}, "theme": "mine"}',
  opencode:
    '{"mcp": {"own": {"type": "local", "command": ["own-program"], "environment": {"KEY": "own-key"}}}, "theme": "mine"}',
}
const JSON_OWN = '{"mcpServers": {"own": {"command": "own-program", "env": {"KEY": "own-key"}}}, "theme": "mine"}'

describe.each(RUNNABLE)('the overlay of %s', (id) => {
  const overlay = overlayFor(id, { native: [ownFile(id, OWN[id] ?? JSON_OWN)] })
  const everything = JSON.stringify(overlay)

  it('contains our window, and only the names of the user’s servers', () => {
    expect(everything).toContain('--launch')
    expect(everything).not.toMatch(/own-program|own-key/)
  })

  it('is strict if and only if no source of servers stays open', () => {
    const isOpen = findOverlay(id)?.sources.some(({ state }) => state === 'open')
    expect(findAdapter(id).enforcement.level).toBe(isOpen ? 'partial' : 'strict')
  })

  it('keeps the arguments of the user, in their order and at the end', () => {
    const args = id === 'goose' ? ['run', '-t', 'do it'] : ['-x', 'do it']
    expect(overlayFor(id, { args }).args.slice(-2)).toEqual(args.slice(-2))
  })

  it('writes only into the folder of the run', () => {
    const paths = [...Object.keys(overlay.files), ...overlay.mirrors.map(({ path }) => path)]
    expect(paths.filter((path) => path.startsWith('/') || path.includes('..'))).toEqual([])
  })

  it('links no file that it writes itself', () => {
    for (const path of Object.keys(overlay.files)) {
      const [name = '', ...folder] = path.split('/').reverse()
      const mirror = overlay.mirrors.find((one) => one.path === folder.reverse().join('/'))
      if (mirror) expect(mirror.except).toContain(name)
    }
  })
})

it.each(['amp', 'continue', 'gemini-cli', 'opencode', 'kilo', 'kimi', 'droid', 'cline'])(
  'what else the user’s file of %s says stays',
  (id) => {
    const text = JSON.stringify({ ...JSON.parse(OWN[id] ?? JSON_OWN), mine: { kept: [1, 'two'] } })
    const { files } = overlayFor(id, { native: [ownFile(id, text)] })
    expect(Object.values(files)).toContainEqual(expect.objectContaining({ mine: { kept: [1, 'two'] } }))
  },
)

describe('for Codex', () => {
  const table = (native: readonly ParsedNativeFile[]): JsonObject => {
    const [flag, value = ''] = overlayFor('codex', { native }).args
    expect(flag).toBe('-c')
    const parsed: unknown = parseToml(value).mcp_servers
    if (!isJsonObject(parsed)) throw new Error('no table')
    return parsed
  }

  it('servers with dots, quotes and other characters in their names are disabled under exactly those names', () => {
    const text = ['a.b', 'say "hi"', 'back\\\\slash', 'ü', '__proto__', '\u007F']
      .map((name) => `[mcp_servers.${JSON.stringify(name).replaceAll('\u007F', '\\u007F')}]\ncommand = "x"\n`)
      .join('')
    const parsed = table([ownFile('codex', text)])
    for (const name of ['a.b', 'say "hi"', 'ü']) expect(parsed[name]).toEqual({ enabled: false, command: 'false' })
    expect(Object.keys(parsed)).toHaveLength(7)
  })

  it('a disabled server keeps its transport, and its URL stays out of the command line', () => {
    const text = '[mcp_servers.far]\nurl = "https://far.example/?key=secret"\n'
    expect(table([ownFile('codex', text)]).far).toEqual({ enabled: false, url: 'http://127.0.0.1/' })
  })

  it('a resumed session stays in the working folder, unless another one is named', () => {
    const folder = ['-C', PLACE.cwd]
    for (const args of [
      ['resume', '--last'],
      ['-m', 'gpt', 'fork'],
    ])
      expect(overlayFor('codex', { args }).args.slice(-2 - args.length)).toEqual([...folder, ...args])
    for (const args of [['resume', '-C', '/else'], ['resume', '--cd=/else'], ['exec', 'resume'], ['fix it']])
      expect(overlayFor('codex', { args }).args.join(' ')).not.toContain(folder.join(' '))
  })

  it('features that add servers are disabled, and later flags cannot enable them again', () => {
    expect(overlayFor('codex', { args: ['exec', 'mcp_servers'] }).args.slice(2)).toEqual([
      ...['-c', 'features.apps=false', '-c', 'features.plugins=false'],
      ...['-c', 'features.skill_mcp_dependency_install=false', '-c', 'tui.resume_cwd="current"', 'exec', 'mcp_servers'],
    ])
    for (const args of [
      ['-c', 'mcp_servers.own.enabled=true'],
      ['exec', '--config=mcp_servers={}'],
      ['-cmcp_servers.x.command="x"'],
      ['--enable', 'plugins'],
      ['-c', 'features.apps=true'],
      ['-c', 'features.connectors=true'],
      ['-c', 'tui.resume_cwd="session"'],
      ['-c', 'tui={resume_cwd="session"}'],
    ])
      expect(() => overlayFor('codex', { args })).toThrow('would change the servers of Codex')
    expect(overlayFor('codex', { args: ['-c', 'model="o5"', '--', '-c', 'mcp_servers'] }).args).toContain('model="o5"')
  })

  it('apps are also disabled by their older name if a file uses it, since it takes precedence', () => {
    const native = [ownFile('codex', '[features]\nconnectors = true\n')]
    expect(overlayFor('codex', { native }).args).toContain('features.connectors=false')
    expect(overlayFor('codex', {}).args).not.toContain('features.connectors=false')
  })

  it('our server is required in the first turn, has long timeouts, and needs no approval by Codex', () => {
    expect(table([]).gw).toMatchObject({
      required: true,
      tool_timeout_sec: 3_600,
      default_tools_approval_mode: 'approve',
    })
  })
})

describe('for OpenCode', () => {
  it('files that the user names by variables are not read', () => {
    const { environment } = overlayFor('opencode', { environment: { OPENCODE_CONFIG_CONTENT: '{}' } })
    expect(environment).toMatchObject({ OPENCODE_CONFIG_CONTENT: undefined, OPENCODE_DISABLE_PROJECT_CONFIG: '1' })
    expect(Object.hasOwn(environment, 'OPENCODE_CONFIG_CONTENT')).toBe(true)
  })

  it('a project’s file is not read, and a note reports that', () => {
    const { notes } = overlayFor('opencode', { native: [ownFile('opencode', '{}', 'project')] })
    expect(notes).toEqual([expect.stringContaining('/home/me/project/opencode.json')])
  })
})

it.each(['amp', 'droid', 'kimi', 'crush'])(
  `${promise('AG-16')} servers of a project keep %s from being started`,
  async (id) => {
    const theirs = ownFile(id, OWN[id] ?? JSON_OWN, 'project')
    const search = { host: PLACE, folders: [], args: [], native: [theirs], servers: [] }
    const sources = findOverlay(id)?.sources ?? []
    expect(await findOtherServers(sources, search)).toEqual([theirs.file.path])
    expect(await findOtherServers(sources, { ...search, native: [] })).toEqual([])
  },
)

it.each([
  ['claude-code', { alwaysLoad: true, timeout: 3_600_000 }],
  ['codex', { default_tools_approval_mode: 'approve', tool_timeout_sec: 3_600, required: true }],
  ['gemini-cli', { trust: true, timeout: 3_600_000 }],
  ['qwen-code', { trust: true, timeout: 3_600_000 }],
  ['opencode', { timeout: 3_600_000 }],
  ['kilo', { timeout: 3_600_000 }],
  ['copilot', { timeout: 3_600_000 }],
  ['cline', { timeout: 3_600 }],
  ['kimi', { toolTimeoutMs: 3_600_000 }],
  ['crush', { timeout: 3_600 }],
])(`${promise('AG-17')} our entry for %s leaves approval to the gateway, and has long timeouts`, (id, expected) => {
  expect(findOverlay(id)?.createEntry(WINDOW)).toMatchObject(expected)
})

it.each([
  ['copilot', '--plugin-dir'],
  ['goose', '--recipe'],
  ['continue', '--mcp'],
])('%s is not started with %s, which adds servers', (id, flag) => {
  expect(findOverlay(id)?.reservedFlags).toContain(flag)
})

describe.each([
  ['opencode', 'OPENCODE', '/home/me/.opencode/opencode.jsonc'],
  ['kilo', 'KILO', '/home/me/.kilocode/kilo.json'],
  ['kilo', 'KILO', '/home/me/.kilo/opencode.json'],
])('for %s', (id, prefix, path) => {
  const text = '{"mcp": {"hidden": {"type": "local", "command": ["own-program"]}}, "theme": "of the home"}'
  const adapter = findAdapter(id)
  const native = adapter
    .nativeFiles(PLACE)
    .filter((file) => file.path === path)
    .map((file) => ({ file, config: adapter.getMcpConfig(text, file) }))

  it(`the servers of ${path}, which is always read, are disabled`, () => {
    const { environment, files } = overlayFor(id, { native })
    expect(JSON.parse(environment[`${prefix}_CONFIG_CONTENT`] ?? '')).toEqual({ mcp: { hidden: { enabled: false } } })
    expect(JSON.stringify(files)).not.toContain('of the home')
  })

  it('the file that a variable names keeps its other settings', () => {
    const file = { path: '/mine/config.json', scope: 'user' } as const
    const named = { file, config: adapter.getMcpConfig(text, file) }
    const environment = { [`${prefix}_CONFIG`]: file.path }
    const { files } = overlayFor(id, { native: [named], environment })
    expect(files['servers.json']).toMatchObject({ theme: 'of the home', mcp: { gw: expect.anything() } })
    expect(JSON.stringify(files)).not.toContain('own-program')
  })
})

it.each([
  ['kimi', 'KIMI_CODE_HOME', '/home/me/project/mine'],
  ['droid', 'FACTORY_HOME_OVERRIDE', '/home/me/project/mine/.factory'],
  ['gemini-cli', 'GEMINI_CLI_HOME', '/home/me/project/mine/.gemini'],
  ['crush', 'CRUSH_GLOBAL_CONFIG', '/home/me/project/mine'],
  ['opencode', 'XDG_CONFIG_HOME', '/home/me/.config'],
])('of %s, a folder that %s names is linked as the agent would find it', (id, variable, source) => {
  expect(overlayFor(id, { environment: { [variable]: 'mine' } }).mirrors[0]?.source).toBe(source)
})

describe('goose', () => {
  const partsWith = (extensions: object): string | undefined => {
    const { args } = overlayFor('goose', { native: [ownFile('goose', JSON.stringify({ extensions }))] })
    return args[args.indexOf('--with-builtin') + 1]
  }

  it('gets no command that would start its own extensions', () => {
    expect(() => overlayFor('goose', { args: ['acp'] })).toThrow('cannot be told')
    expect(overlayFor('goose').args.slice(0, 2)).toEqual(['session', '--no-profile'])
  })

  it(`${promise('AG-14')} keeps the built-in extensions that its file enables, except those that start other extensions`, () => {
    expect(partsWith({})).toBe('analyze,apps,developer,skills')
    expect(
      partsWith({
        developer: { type: 'builtin', enabled: false, name: 'developer' },
        todo: { type: 'platform', enabled: true, name: 'todo' },
        'Extension Manager': { type: 'platform', enabled: true, name: 'Extension Manager' },
        summon: { type: 'platform', name: 'summon' },
        own: { type: 'stdio', enabled: true, name: 'own', cmd: 'own-program' },
      }),
    ).toBe('analyze,apps,skills,todo')
  })

  it('gets the same command line for our server in each run, so that a session can be resumed', () => {
    const { args, environment } = overlayFor('goose')
    const [, words = ''] = args.slice(args.indexOf('--with-extension'))
    expect(words).toContain('--launch from-environment')
    expect(words).not.toContain('/state/runs/1')
    expect(environment).toEqual({ SALLYPORT_LAUNCH: '/state/runs/1' })
  })
})

it('Qwen gets its harmless commands unchanged', () => {
  expect(findOverlay('qwen-code')?.reservedCommands).toContain('serve')
  expect(overlayFor('qwen-code', { args: ['mcp', 'list'] }).args).toEqual(['mcp', 'list'])
})

it('Copilot gets flags that disable the user’s servers by name, and its own', () => {
  const { args } = overlayFor('copilot', { native: [ownFile('copilot', JSON_OWN)] })
  expect(args).toEqual(
    expect.arrayContaining(['--disable-mcp-server=own', '--disable-builtin-mcps', '--allow-tool=gw']),
  )
})

it.each([
  ['opencode', 'opencode'],
  ['kilo', 'kilo'],
])('%s does not see its oldest file, which may contain servers', (id, folder) => {
  const mirror = overlayFor(id, {}).mirrors.find(({ path }) => path === `config/${folder}`)
  expect(mirror?.except).toContain('config')
})
