// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { loadConfig, loadProblems } from '../home/home.test-kit.ts'
import { describeIssue } from '../reading/config-issue.ts'
import type { ServerConfig } from '../settings.ts'
import { collectSecrets } from './credentials.ts'

const serverOf = async (entry: string): Promise<ServerConfig | undefined> =>
  (await loadConfig(`mcp_servers: {a: {${entry}}}`)).settings.servers[0]

const problemsOf = (entry: string): Promise<readonly string[]> => loadProblems(`mcp_servers: {a: {${entry}}}`)

describe('a server that is started by its command', () => {
  it('has every default filled in', async () => {
    const { settings } = await loadConfig('mcp_servers:\n  db: {command: npx}')
    expect(settings.servers[0]).toEqual({
      kind: 'stdio',
      id: 'db',
      title: undefined,
      enabled: true,
      era: 'auto',
      command: 'npx',
      args: [],
      env: {},
      cwd: undefined,
      per: 'gateway',
      timeouts: { startup: 30_000, call: 60_000, callMaximum: 600_000, idle: undefined, health: 60_000 },
      includeTools: undefined,
      excludeTools: [],
      isolated: false,
      isolatedTools: [],
      result: undefined,
      maxMessageBytes: 64 * 1024 ** 2,
      credentials: [],
      fromVariables: [],
      trusted: false,
      location: { file: expect.stringMatching(/config\.yaml$/), line: 2 },
    })
  })

  it('knows which values came from variables, and which others may be secret', async () => {
    const { settings } = await loadConfig(
      'mcp_servers: {a: {command: x, args: ["--key=${KEY}", "${MODE:-a-default}", "${SHORT}"], env: {OWN: written-out}}}',
      { KEY: 'key-of-a', SHORT: 'abc' },
    )
    const [server] = settings.servers
    expect(server?.fromVariables).toEqual(['key-of-a'])
    expect(collectSecrets(server as ServerConfig)).toEqual(['written-out', 'key-of-a'])
  })

  it('resolves paths from the home and the user’s folder, and leaves bare names to PATH', async () => {
    const { settings } = await loadConfig(
      'mcp_servers: {a: {command: ./bin/a, cwd: work}, b: {command: bin/b, cwd: "~"}, c: {command: ~/c, cwd: ~/d}, d: {command: /usr/bin/d, cwd: /d}}',
    )
    const [a, b, c, d] = settings.servers.map((server) => (server.kind === 'stdio' ? server : undefined))
    expect(a?.command).toMatch(/^\/.*sallyport-config-[^/]*\/bin\/a$/)
    expect(a?.cwd).toMatch(/^\/.*sallyport-config-[^/]*\/work$/)
    expect([basename(b?.command ?? ''), b?.cwd]).toEqual(['b', '/home/ann'])
    expect([c?.command, c?.cwd]).toEqual(['/home/ann/c', '/home/ann/d'])
    expect([d?.command, d?.cwd]).toEqual(['/usr/bin/d', '/d'])
  })

  it('does not split a command with spaces', async () => {
    expect(await serverOf('command: "npx -y thing"')).toMatchObject({ command: 'npx -y thing', args: [] })
  })

  it('may have its command as a list', async () => {
    expect(await serverOf('type: local, command: [npx, -y, x], args: [z], environment: {A: b}')).toMatchObject({
      command: 'npx',
      args: ['-y', 'x', 'z'],
      env: { A: 'b' },
    })
  })

  it('gets numbers and booleans as they are written where strings are needed', async () => {
    expect(
      await serverOf('command: x, args: [--port, 8080, 1.10, true], env: {V: 1.10, D: true, E: ""}'),
    ).toMatchObject({
      args: ['--port', '8080', '1.10', 'true'],
      env: { V: '1.10', D: 'true', E: '' },
    })
  })

  it.each([
    ['command: ""', 'an empty string'],
    ['command: []', 'expected a program'],
    ['command: {a: b}', 'got a mapping'],
    ['command: x, args: "-y x"', 'expected a list of strings, such as ["-y", "my-server"]; got a string'],
    ['command: x, args: [[a]]', 'mcp_servers.a.args[0]: expected a string; got a list'],
    ['command: x, args: ["a\\0b"]', 'without NUL'],
    ['command: x, env: {A: null}', 'mcp_servers.a.env.A: expected a string; got nothing'],
    ['command: x, env: {"A=B": c}', 'expected the name of a variable'],
    ['command: x, env: {A: b}, environment: {C: d}', 'means the same as "env"'],
    ['command: x, per: sesion', 'one of "gateway", "session"; got "sesion". Did you mean "session"?'],
    ['command: x, enabled: yes', 'expected true or false; got "yes"'],
    ['command: x, url: "http://h"', 'got both'],
    ['description: nothing else', 'got none'],
    ['type: stdio, url: "http://h"', 'expected "command", since its type is "stdio"'],
    ['type: ws, url: "ws://h"', 'got "ws"'],
  ])('is refused for {%s}', async (entry, problem) => {
    expect((await problemsOf(entry)).join('\n')).toContain(problem)
  })
})

describe('a server that is reached by its URL', () => {
  it.each([
    ['url: "http://h/mcp"', 'http'],
    ['httpUrl: "https://h/mcp"', 'http'],
    ['type: http, url: "http://h/mcp"', 'http'],
    ['type: streamable-http, url: "http://h/mcp"', 'http'],
    ['type: streamableHttp, url: "http://h/mcp"', 'http'],
    ['type: remote, url: "http://h/mcp"', 'http'],
    ['type: sse, url: "http://h/sse"', 'sse'],
  ])('with {%s} is of the kind %s', async (entry, kind) => {
    expect(await serverOf(entry)).toMatchObject({ kind })
  })

  it('causes a warning about its type if the address looks like the older transport', async () => {
    const { settings, warnings } = await loadConfig('mcp_servers: {a: {url: "http://h/sse?x=1"}}')
    expect(settings.servers[0]?.kind).toBe('http')
    expect(warnings.map(describeIssue).join()).toContain('add "type: sse"')
  })

  it('cannot set the headers of the transport', async () => {
    const { settings, warnings } = await loadConfig(
      'mcp_servers: {a: {url: "http://h", headers: {Content-Type: x, Mcp-Session-Id: y, Accept-Encoding: br, Host: h, X-Key: z}, cwd: /x}}',
    )
    expect(settings.servers[0]).toMatchObject({ headers: { 'X-Key': 'z' } })
    expect(warnings).toHaveLength(5)
  })

  it.each([
    ['url: "not a url"', 'is not a valid URL'],
    ['url: "file:///etc/passwd"', 'another scheme'],
    ['url: "https://ann:pw@h/"', 'without a user name'],
    ['type: http', 'expected "url"'],
    ['url: "http://h", httpUrl: "http://i"', 'means the same as "url"'],
    ['url: "http://h", headers: {"A\\nB": c}', 'expected a header name'],
    ['url: "http://h", headers: {A: "b\\r\\nC: d"}', 'on one line'],
    ['url: "http://h", headers: {A: b, a: c}', 'the same header as "A"'],
  ])('is refused for {%s}', async (entry, problem) => {
    expect((await problemsOf(entry)).join('\n')).toContain(problem)
  })
})

describe(`the isolated instance of a server (${promise('SEN-15')})`, () => {
  const URLS = 'url: "http://data/mcp", url_isolated: "http://data-iso/mcp?key=${KEY}"'

  it('has an address, in either spelling', async () => {
    for (const key of ['url_isolated', 'urlIsolated']) {
      const server = await serverOf(`url: "http://data/mcp", ${key}: "http://data-iso/mcp", type: sse`)
      expect(server).toMatchObject({ kind: 'sse', url: 'http://data/mcp', urlIsolated: 'http://data-iso/mcp' })
    }
    expect(await serverOf('url: "http://data/mcp"')).not.toHaveProperty('urlIsolated')
  })

  it('can have a secret in its address, which is never shown', async () => {
    const { settings } = await loadConfig(`mcp_servers: {a: {${URLS}}}`, { KEY: 'key-of-the-instance' })
    const [server] = settings.servers as [ServerConfig]
    expect(server.credentials).toEqual(['key-of-the-instance'])
    expect(collectSecrets(server)).toContain('key-of-the-instance')
    const written = await serverOf('url: "http://data/mcp", url_isolated: "http://data-iso/mcp?api_key=written-out"')
    expect(written?.credentials).toEqual(['written-out'])
    expect(collectSecrets(written as ServerConfig)).toEqual(['written-out'])
  })

  it.each([
    ['url: "http://a/mcp", url_isolated: nowhere', 'got something that is not a valid URL.'],
    ['url: "http://a/mcp", url_isolated: "ftp://a/"', 'got another scheme than http(s).'],
    ['url: "http://a/mcp", url_isolated: 7', 'expected an address such as "https://host/mcp"; got a number.'],
    ['url: "http://a/mcp", url_isolated: "http://A:80/mcp"', 'expected another address than that of "url"'],
    ['command: x, url_isolated: "http://a/mcp"', 'expected "url" beside it: both are addresses of one server'],
    ['url_isolated: "http://a/mcp"', 'remove this key.'],
    ['type: docker-gateway, url_isolated: "http://a/mcp"', 'expected "url" beside it'],
  ])('is refused: %s', async (entry, problem) => {
    const problems = await problemsOf(entry)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(/^config\.yaml:1:\d+ mcp_servers\.a\.url_isolated: /)
    expect(problems[0]).toContain(problem)
  })

  it('keeps its server from starting if its key is misspelt', async () => {
    expect(await serverOf('url: "http://a/mcp", url_isolate: "http://b/mcp"')).toMatchObject({
      enabled: false,
      heldBack: expect.stringContaining('url_isolated'),
    })
  })
})

describe('the name of a server', () => {
  it('becomes an id if possible, and is preserved as the title if it had to change', async () => {
    const { settings } = await loadConfig(
      'mcp_servers: {db-1: {command: x}, "My Dätabase (new)": {command: x}, myServer: {command: x, title: Mine}, 7: {command: x}, __proto__: {command: x}}',
    )
    expect(settings.servers.map(({ id, title }) => [id, title])).toEqual([
      ['db-1', undefined],
      ['my-database-new', 'My Dätabase (new)'],
      ['my-server', 'Mine'],
      ['7', undefined],
      ['proto', '__proto__'],
    ])
  })

  it('is refused if its id is the same as another one, with both locations', async () => {
    expect(
      await loadProblems('mcp_servers:\n  my-db: {command: x}\n  my_db: {command: x}\n  MyDb: {command: x}'),
    ).toEqual([
      'config.yaml:3:3 mcp_servers.my_db: its id would be "my-db", the same as that of mcp_servers.my-db in line 2. Rename one of them.',
      'config.yaml:4:3 mcp_servers.MyDb: its id would be "my-db", the same as that of mcp_servers.my-db in line 2. Rename one of them.',
    ])
  })

  it.each(['sallyport', 'Sallyport', '"日本"', '"—"'])('is refused if it is %s', async (name) => {
    expect(await loadProblems(`mcp_servers: {${name}: {command: x}}`)).toHaveLength(1)
  })

  it('cannot write control characters to the terminal', async () => {
    const output = (await loadProblems('mcp_servers: {"\\e[31m\\u202E\\n": {}}')).join('\n')
    expect(output).toContain('\\u')
    expect(output).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })
})

describe('the switch of a server', () => {
  it.each([
    ['disabled: true', false],
    ['disabled: false', true],
    ['enabled: false', false],
    ['enabled: true, disabled: true', false],
    ['enabled: false, disabled: false', false],
    ['enabled: "false"', false],
  ])('%s', async (entry, enabled) => {
    expect(await serverOf(`command: x, ${entry}`)).toMatchObject({ enabled })
  })
})

describe('the timeouts of a server', () => {
  it.each([
    [
      'timeouts: {startup: 5s, call: 500ms, max: 2m, idle: 10m}',
      { startup: 5000, call: 500, callMaximum: 120_000, idle: 600_000 },
    ],
    ['timeout: 5000', { call: 5000 }],
    ['timeout: "5s"', { call: 5000 }],
    ['read_timeout: 5', { call: 5000 }],
    ['timeout_seconds: 5', { call: 5000 }],
    ['tool_timeout_sec: 5', { call: 5000 }],
    ['toolTimeoutMs: 5', { call: 5 }],
    ['startup_timeout: 7', { startup: 7000 }],
    ['startup_timeout_sec: 7', { startup: 7000 }],
    ['startupTimeoutMs: 7', { startup: 7 }],
    ['idle: 10m', { idle: 600_000 }],
    ['timeouts: {call: 2h}', { call: 7_200_000, callMaximum: 7_200_000 }],
  ])('are read from {%s}', async (entry, timeouts) => {
    expect((await serverOf(`command: x, ${entry}`))?.timeouts).toMatchObject(timeouts)
  })

  it.each([
    ['timeout: -1', 'expected a duration'],
    ['timeout: 0', 'at least 1 ms'],
    ['timeout: soon', 'got "soon"'],
    ['timeouts: {call: 60}', 'with its unit'],
    ['timeouts: {call: 100d}', 'at most 24 days'],
    ['timeouts: {max: 1s}', 'expected at least the call timeout'],
    ['timeout: 1000, read_timeout: 2', 'sets the same limit'],
    ['timeout: 1000, timeouts: {call: 1s}', 'the same limit as mcp_servers.a.timeouts.call'],
    ['timeouts: 5', 'expected a mapping'],
  ])('are refused for {%s}', async (entry, problem) => {
    expect((await problemsOf(`command: x, ${entry}`)).join('\n')).toContain(problem)
  })
})

describe(`a server that is told who calls (${promise('SEN-19')})`, () => {
  it('is one whose entry says so, and no other', async () => {
    expect((await serverOf('command: x, identity: forward'))?.identity).toBe('forward')
    expect((await serverOf('command: x, trusted: true, per: session'))?.identity).toBe(undefined)
  })

  it.each([
    ['command: x, identity: forwards', 'expected "forward"; got "forwards". Did you mean "forward"?'],
    ['command: x, identity: true', 'expected "forward"; got true.'],
    ['command: x, identity: none', 'expected "forward"; got "none".'],
    [
      'url: "http://db.example:8000/mcp", identity: forward',
      'expected a url with https, a url on loopback, or a secret',
    ],
    [
      'url: "http://127.0.0.1:8000/mcp", url_isolated: "http://data-iso:8000/mcp", identity: forward',
      'expected a url with https',
    ],
    ['type: docker-gateway, identity: forward', 'a Docker MCP Gateway cannot pass on who calls.'],
  ])('is refused if it is not clear or not safe: %s', async (entry, problem) => {
    expect((await problemsOf(entry)).join('\n')).toContain(problem)
  })

  it.each([
    'url: "https://db.example/mcp"',
    'url: "http://127.0.0.1:8000/mcp"',
    'url: "http://[::1]:8000/mcp"',
    'url: "http://localhost/mcp"',
    'url: "http://db:8000/mcp", headers: {Authorization: "Bearer 0123456789abcdef"}',
  ])('may be reached over a channel that it can trust: %s', async (entry) => {
    expect((await serverOf(`${entry}, identity: forward`))?.identity).toBe('forward')
  })

  it.each(['identty: forward', 'idenity: forward', 'forward_identity: true'])(
    'is not started if the key is misspelt: %s',
    async (entry) => {
      const { settings, warnings } = await loadConfig(`mcp_servers: {a: {command: x, ${entry}}}`)
      expect(settings.servers[0]).toMatchObject({ enabled: false, identity: undefined })
      expect(warnings.map(describeIssue).join()).toMatch(/this key is not known\. Did you mean "identity/)
    },
  )
})
