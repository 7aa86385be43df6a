// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import {
  asOrdinaryUser,
  catchError,
  createHome,
  loadConfig,
  loadProblems,
  temporaryFolder,
} from './home/home.test-kit.ts'
import { readHome } from './home/home-content.ts'
import { loadSettings } from './load-settings.ts'
import { describeIssue } from './reading/config-issue.ts'
import { readDockerVariables } from './servers/docker-variables.ts'
import { isSameServer } from './servers/written-servers.ts'

const warningsOf = async (yaml: string, environment = {}): Promise<readonly string[]> =>
  (await loadConfig(yaml, environment)).warnings.map(describeIssue)

describe('a home without a config file', () => {
  it('has no servers, every default, and a warning that names the path', async () => {
    const home = await temporaryFolder()
    const { settings, warnings } = await loadSettings({ home, environment: {} })
    expect(settings.servers).toEqual([])
    expect(settings.gateway).toMatchObject({ host: '127.0.0.1', port: 4747, naming: 'prefixed', startupWait: 1000 })
    expect(settings.audit).toMatchObject({ durability: 'process', required: true })
    expect(warnings.map(describeIssue).join()).toContain(join(home, 'config.yaml'))
  })

  it('points to a config.yml that is not read', async () => {
    const home = await createHome({ 'config.yml': 'mcp_servers: {}' })
    const { warnings } = await loadSettings({ home, environment: {} })
    expect(warnings[0]?.problem).toContain('rename it to config.yaml')
  })

  it('reads config.json instead, and warns if there are both', async () => {
    const json = '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"]}}}'
    const home = await createHome({ 'config.json': json })
    expect((await loadSettings({ home, environment: {} })).settings.servers).toHaveLength(1)
    await writeFile(join(home, 'config.yaml'), 'gateway: {port: 1}')
    const both = await loadSettings({ home, environment: {} })
    expect(both.settings.gateway.port).toBe(1)
    expect(both.warnings.map(describeIssue)).toEqual([expect.stringContaining('config.json: this file is ignored')])
  })

  it.each(['', '# only a comment\n', '---\n', 'null', '{}', 'mcp_servers:', 'gateway:\nauth:\n  jwt:\n'])(
    'is the same as one with an empty config file: %j',
    async (yaml) => {
      const { settings, warnings } = await loadConfig(yaml)
      expect(settings.servers).toEqual([])
      expect(settings.jwt).toBeUndefined()
      expect(warnings).toEqual([])
    },
  )
})

describe('the spelling of keys', () => {
  it('may be camelCase or snake_case', async () => {
    const snake = await loadConfig(
      'mcp_servers: {a: {url: "http://h/mcp", include_tools: [x], max_message: 1MB}}\ngateway: {max_calls_in_flight: 7}',
    )
    const camel = await loadConfig(
      'mcpServers: {a: {url: "http://h/mcp", includeTools: [x], maxMessage: 1MB}}\ngateway: {maxCallsInFlight: 7}',
    )
    expect(snake.settings.gateway).toEqual(camel.settings.gateway)
    expect(snake.settings.servers[0]).toMatchObject({ includeTools: ['x'], maxMessageBytes: 1024 ** 2 })
    expect(snake.warnings).toEqual([])
  })

  it('leaves names in env and headers as they are', async () => {
    const { settings } = await loadConfig(
      'mcp_servers:\n  a: {command: x, env: {MY_KEY: a, myKey: b, my_key: c}}\n  b: {url: "http://h", headers: {X_Api_Key: k}}',
    )
    expect(settings.servers[0]).toMatchObject({ env: { MY_KEY: 'a', myKey: 'b', my_key: 'c' } })
    expect(settings.servers[1]).toMatchObject({ headers: { X_Api_Key: 'k' } })
  })

  it('refuses both spellings of one key at once, with both lines', async () => {
    expect(await loadProblems('mcpServers: {}\nmcp_servers: {}')).toEqual([
      'config.yaml:2:1 mcp_servers: this key is already in line 1, spelled "mcpServers". Keep one of them.',
    ])
    expect(await loadProblems('gateway:\n  max_body: 1MB\n  maxBody: 2MB')).toEqual([
      expect.stringContaining('config.yaml:3:3 gateway.maxBody: this key is already in line 2'),
    ])
  })

  it('refuses a key that is used twice, with both lines', async () => {
    expect(await loadProblems('mcp_servers:\n  a: {command: x}\n  b: {command: x}\n  a: {command: y}')).toEqual([
      'config.yaml:4:3: this key is used twice; the first one is in line 2.',
    ])
  })

  it('warns of an unknown key at any level, and suggests a known one', async () => {
    expect(
      await warningsOf(
        'gatway: {}\nmcp_servers:\n  a: {comand: x, command: y, timeouts: {cal: 1s}}\n  b: {command: y, excludeTool: [z]}',
      ),
    ).toEqual([
      'config.yaml:1:1 gatway: this key is not known and is ignored. Did you mean "gateway"?',
      'config.yaml:3:7 mcp_servers.a.comand: this key is not known and is ignored. Did you mean "command"?',
      'config.yaml:3:41 mcp_servers.a.timeouts.cal: this key is not known and is ignored. Did you mean "call"?',
      'config.yaml:4:19 mcp_servers.b.excludeTool: this key is not known. Did you mean "excludeTools"? The server is not started until it is corrected.',
    ])
  })

  it.each([
    ['Isolated: true', 'isolated'],
    ['isolatd: true', 'isolated'],
    ['isolatedTool: [q]', 'isolatedTools'],
    ['isolated_tool: [q]', 'isolated_tools'],
    ['excludTools: [q]', 'excludeTools'],
    ['includetools: [q]', 'include_tools'],
    ['disable: true', 'disabled'],
    ['enable: false', 'enabled'],
    ['sensitvity: confidential', 'sensitivity'],
    ['exclude: [q]', 'excludeTools'],
    ['blocked_tools: [q]', 'excludeTools'],
    ['tools: [q]', 'includeTools'],
    ['allowedTools: [q]', 'includeTools'],
    ['context_isolation: true', 'isolated'],
  ])(
    `${promise('ISO-1')} does not start a server whose entry has %s, but starts the others`,
    async (written, meant) => {
      const { settings, warnings } = await loadConfig(`mcp_servers: {a: {command: x, ${written}}, b: {command: y}}`)
      const [a, b] = settings.servers
      expect(a).toMatchObject({ enabled: false, heldBack: expect.stringContaining(`Did you mean "${meant}"?`) })
      expect(b).toMatchObject({ enabled: true, heldBack: undefined })
      expect(warnings.map(describeIssue).join()).toContain('The server is not started until it is corrected.')
    },
  )

  it.each(['forbidden_paths: [/x]', 'allowedPath: [/x]', 'requires_approval: true', 'hidden: true', 'readonly: true'])(
    `${promise('ISO-1')} does not start a server whose entry has %s, which is a setting of tools`,
    async (written) => {
      const { settings } = await loadConfig(`mcp_servers: {a: {command: x, ${written}}}`)
      expect(settings.servers[0]).toMatchObject({ enabled: false, heldBack: expect.stringContaining('tools.yaml') })
    },
  )

  it.each([
    ['isolation: {retruns: {type: object}}', 'returns'],
    ['isolation: {budgt: 500}', 'budget'],
    ['isolaton: {}', 'isolation'],
    ['agents: {mcp-executor: {enabeld: false}}', 'enabled'],
    ['agents: {mcp-executr: {enabled: false}}', 'mcp-executor'],
    ['context: {cpa: 500}', 'cap'],
    ['goverance: {patterns: {}}', 'governance'],
    ['governance: {pattern: {"*": {hidden: true}}}', 'patterns'],
    ['governance: {defaults: {hihg: {requires_approval: true}}}', 'high'],
    ['governance: {defaults: {high: {require_approval: true}}}', 'requires_approval'],
    ['governance: {escalation: {policy_violation: {count: 3}}}', 'policy_violations'],
    ['auth: {jwt: {jwks_uri: "https://i/k", issuers: [i], audence: a}}', 'audience'],
    ['sandbx: {driver: auto}', 'sandbox'],
  ])(`${promise('ISO-1')} is an error in %s, where the key was meant to isolate or restrict`, async (yaml, meant) => {
    expect((await loadProblems(yaml)).join()).toContain(`this key is not known. Did you mean "${meant}"?`)
  })

  it('is an error where a setting of single tools is among the defaults of all tools', async () => {
    const lines = await loadProblems('governance: {defaults: {forbidden_paths: [/x]}}')
    expect(lines.join()).toContain('governance.defaults.forbidden_paths: this key is not known.')
  })

  it.each(['isolatd: false', 'enable: true', 'tools: ["*"]', 'descripton: x', 'comand: z', 'Isolated:'])(
    'starts a server whose entry has %s, because no protection is lost',
    async (written) => {
      const { settings } = await loadConfig(`mcp_servers: {a: {command: x, ${written}}}`)
      expect(settings.servers[0]).toMatchObject({ enabled: true, heldBack: undefined })
    },
  )

  it('accepts the keys of other features, $schema and x- keys, does not expand them, and warns of those that are not enforced yet', async () => {
    const yaml = `
$schema: https://example.org/schema.json
x-shared: &env {A: "1"}
governance: {enforce: true, approval_timeout: 300s}
store: "sqlite:"
telemetry: {prometheus: true}
sandbox: {forwards: [{listen: 1, to: "x:1"}]}
mcp_servers:
  db: {command: npx, env: *env, isolatedTools: [q], sensitivity: confidential, trusted: true, detect: "\${NOT_SET}"}
`
    const { settings, warnings } = await loadConfig(yaml)
    expect(warnings.map(describeIssue)).toEqual([
      'config.yaml: these settings are not enforced in this version yet: sandbox.forwards, mcp_servers.db.detect.',
    ])
    expect(settings.servers[0]).toMatchObject({ env: { A: '1' }, sensitivity: { sensitivity: 'CONFIDENTIAL' } })
  })

  it('does not warn of a protection that is switched off, or that is for programs of the kit', async () => {
    const { warnings } = await loadConfig(
      'governance:\nsandbox: {limits: null}\nmcp_servers: {a: {command: x, isolated: false}, b: {type: server, detect: x}}',
    )
    expect(warnings).toEqual([])
  })

  it('gives one warning line, however many servers ask for it', async () => {
    const servers = Array.from({ length: 100 }, (_, index) => `s${index}: {command: x, detect: y}`)
    const { warnings } = await loadConfig(`mcp_servers: {${servers.join(', ')}}`)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]?.problem).toMatch(/mcp_servers\.s11\.detect, and 88 more\.$/)
  })
})

describe('the text of the file', () => {
  it.each([
    ['a broken quote', 'gateway: {host: "127.0.0.1\n'],
    ['a tab', 'gateway:\n\tport: 1'],
    ['two documents', 'gateway: {}\n---\ngateway: {}'],
    ['an unknown tag', 'gateway: !!js/function "x"'],
    ['a merge key', 'x-a: &a {port: 1}\ngateway: {<<: *a}'],
    ['an alias without anchor', 'gateway: *nobody'],
    ['an alias to itself', 'gateway: &a [*a]'],
    ['a list at the top', '- a\n- b'],
    ['a mapping as a key', 'gateway: {[a]: 1}'],
    ['a prototype', 'mcp_servers: {a: {command: x, env: {__proto__: y}}}'],
  ])('is refused with a location for %s', async (_, yaml) => {
    expect((await loadProblems(yaml))[0]).toMatch(/^config\.yaml:\d+:\d+/)
  })

  it('is refused when it is not UTF-8', async () => {
    const home = await createHome({ 'config.yaml': Uint8Array.of(0x61, 0xff, 0xfe) })
    expect((await catchError(loadSettings({ home, environment: {} }))).message).toContain('is not UTF-8')
  })

  it('may have a BOM and CRLF', async () => {
    const { settings } = await loadConfig('\uFEFFgateway:\r\n  port: 5\r\n')
    expect(settings.gateway.port).toBe(5)
  })

  it('cannot be made huge by aliases', async () => {
    const levels = Array.from(
      { length: 30 },
      (_, i) => `  l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
    )
    const yaml = `x-laughs:\n  l0: &l0 [lol]\n${levels.join('\n')}\nmcp_servers: {a: {command: x, args: *l30}}`
    expect((await loadProblems(yaml)).join()).toContain('aliases make this file too large')
  })

  it.each(['['.repeat(50_000), '{a: '.repeat(20_000), '- '.repeat(50_000), `a: ${'[*a, '.repeat(1000)}`])(
    'cannot exhaust the stack by nesting (case %#)',
    async (yaml) => {
      expect((await loadProblems(yaml)).length).toBeGreaterThan(0)
    },
  )

  it('never makes the reader throw', async () => {
    const { parseTree } = await import('./reading/located-tree.ts')
    const { readConfig } = await import('./reading/read-config.ts')
    const word = fc.constantFrom(
      'mcp_servers',
      'gateway',
      'a',
      'command',
      'url',
      'env',
      ': ',
      '\n',
      '  ',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '"',
      '&a ',
      '*a',
      '${A}',
      '!!int ',
      '|',
      '>',
      '#',
      '%',
      '? ',
      '\t',
      '0',
      'null',
      ',',
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        const read = readConfig({
          file: 'config.yaml',
          tree: parseTree(words.join('')),
          home: '/h',
          userHome: '/u',
          lookup: () => 'S3CRET',
          docker: readDockerVariables({}),
        })
        expect(JSON.stringify([read.errors, read.warnings])).not.toContain('S3CRET')
      }),
      { numRuns: 300 },
    )
  })
})

describe('secrets', () => {
  it('never appear in messages about the file', async () => {
    const secret = 'S3CRET-9f2c'
    const yaml = `
gateway: {host: "\${S}", port: "\${S}", naming: "\${S}", allowed_hosts: ["\${S} x"], startup_wait: "\${S}"}
auth: {jwt: {secret: "\${S}", algorithms: ["\${S}"]}}
mcp_servers:
  a: {command: [["\${S}"]], args: "\${S}", env: ["\${S}"], type: "\${S}", timeout: "\${S}"}
  b: {url: "\${S}", headers: {"X Y": "\${S}"}, per: "\${S}"}
  c: {url: "http://u:\${S}@h/", headers: {A: "\${S}\\n"}}
  d: {url: "http://u:${secret}@h/", headers: {A: "${secret}\\n", b: [${secret}]}, args: {a: ${secret}}}
  e: {command: x, args: ${secret}, env: ${secret}}
  f: {url: "http://h", headers: ${secret}}
`
    const error = await catchError(loadConfig(yaml, { S: secret }))
    expect(error.message.split('\n').length).toBeGreaterThan(8)
    expect(`${error.text}${error.stack}`).not.toContain(secret)
  })

  it.each([
    'secret: "S3CRET\n}}\n\tS3CRET: [S3CRET',
    '%S3CRET\n---\na: b',
    'a: !S3CRET b',
    'a: *S3CRET',
    '&S3CRET &b a',
  ])('are not quoted from a file that is not YAML (case %#)', async (yaml) => {
    expect((await catchError(loadConfig(yaml))).text).not.toContain('S3CRET')
  })
})

describe('variables', () => {
  it('are expanded in every string that is read', async () => {
    const { settings } = await loadConfig(
      'gateway: {port: "${P}", allow_remote: "${R}"}\nmcp_servers: {a: {command: "${C}", args: ["--k=${K}", "$${K}"], env: {U: "${U:-d}"}}}',
      { P: '99', C: 'npx', K: 'v', R: 'true' },
    )
    expect(settings.gateway.port).toBe(99)
    expect(settings.servers[0]).toMatchObject({ command: 'npx', args: ['--k=v', '${K}'], env: { U: 'd' } })
  })

  it('that are not set are errors with the key and the name of the variable', async () => {
    expect(
      await loadProblems(
        'mcp_servers:\n  db:\n    command: x\n    env:\n      URL: ${DB_URL}\n      T: "${T:?ask Ann}"',
      ),
    ).toEqual([
      'config.yaml:5:7 mcp_servers.db.env.URL: the variable DB_URL is not set.',
      'config.yaml:6:7 mcp_servers.db.env.T: the variable T is not set: ask Ann.',
    ])
  })

  it('are not needed by a server that is switched off or is not for the gateway', async () => {
    const { settings, warnings } = await loadConfig(
      'mcp_servers:\n  a: {command: x, env: {K: "${NOPE}"}, disabled: true}\n  b: {url: "${NOPE}", enabled: false}\n  c: {type: client, url: "${NOPE}"}\n  d: {type: server, name: d}',
    )
    expect(settings.servers.map(({ id, enabled }) => [id, enabled])).toEqual([
      ['a', false],
      ['b', false],
    ])
    expect(warnings).toEqual([])
  })

  it('are never inherited properties of an object', async () => {
    expect(await loadProblems('gateway: {host: "${constructor}${toString}"}')).toEqual([
      'config.yaml:1:11 gateway.host: the variable constructor is not set.',
      'config.yaml:1:11 gateway.host: the variable toString is not set.',
    ])
  })
})

describe('what is loaded', () => {
  const yaml = 'mcp_servers:\n  a: {command: x, args: [b], env: {K: v}}\n  c: {url: "http://h/mcp"}'

  it('is deeply frozen', async () => {
    const { settings } = await loadConfig(yaml)
    const everyObject = (value: unknown): readonly object[] =>
      typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(everyObject)] : []
    expect(everyObject(settings).every(Object.isFrozen)).toBe(true)
  })

  it('can be compared server by server, wherever they are in the file', async () => {
    const [before, after] = [
      (await loadConfig(yaml)).settings.servers,
      (await loadConfig(`# moved\n\n${yaml}`)).settings.servers,
    ]
    expect(before.length).toBe(2)
    before.forEach((server, index) => {
      const other = after[index]
      expect(other !== undefined && isSameServer(server, other)).toBe(true)
      expect(other !== undefined && isSameServer(server, { ...other, enabled: false })).toBe(false)
    })
  })

  it('comes from the bytes that were read before, if they are given', async () => {
    const home = await createHome({ 'config.yaml': 'gateway: {port: 1}' })
    const content = await readHome(home)
    await writeFile(join(home, 'config.yaml'), 'gateway: {port: 2}')
    const loaded = await loadSettings({ home, environment: {}, content })
    expect(loaded.settings.gateway.port).toBe(1)
    expect(loaded.digest).toBe(content.digest)
  })
})

describe('a home that cannot be read', () => {
  it('is refused with a reason: a file, a folder instead of a file, a device, a pipe', async () => {
    const home = await createHome({ file: '' })
    expect(await catchError(loadSettings({ home: join(home, 'file'), environment: {} }))).toMatchObject({
      code: 'HOME_UNREADABLE',
    })
    await mkdir(join(home, 'config.yaml'))
    expect((await catchError(loadSettings({ home, environment: {} }))).message).toContain('not a regular file')
    const device = await temporaryFolder()
    await symlink('/dev/zero', join(device, 'config.yaml'))
    expect((await catchError(loadSettings({ home: device, environment: {} }))).message).toContain('not a regular file')
    const piped = await temporaryFolder()
    execFileSync('mkfifo', [join(piped, 'tools.yaml')])
    expect((await catchError(loadSettings({ home: piped, environment: {} }))).message).toContain('not a regular file')
  })

  it('gives a hint about permissions', async () => {
    const home = await createHome({ 'config.yaml': '' })
    await chmod(join(home, 'config.yaml'), 0)
    await chmod(home, 0o755)
    const error = await asOrdinaryUser(() => catchError(loadSettings({ home, environment: {} })))
    expect(error).toMatchObject({ code: 'HOME_UNREADABLE', hint: expect.stringContaining('right to read') })
  })

  it('is refused if a file is too large', async () => {
    const home = await createHome({ 'config.yaml': '#'.repeat(4 * 1024 ** 2 + 1) })
    expect((await catchError(loadSettings({ home, environment: {} }))).message).toContain('more than 4 MB')
  })
})
