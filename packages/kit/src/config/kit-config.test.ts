// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration refers to variables.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { type KitConfig, type KitConfigOptions, readKitConfig } from './kit-config.ts'

let cwd: string
let warnings: string[]

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sallyport-kit-config-'))
  warnings = []
  return () => rmSync(cwd, { recursive: true })
})

function write(path: string, text: string): string {
  const file = join(cwd, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

const read = (name: string, options: KitConfigOptions = {}): Promise<KitConfig> =>
  readKitConfig(name, { environment: {}, cwd, onWarning: (warning) => warnings.push(warning), ...options })

async function errorOf(reading: Promise<unknown>): Promise<SallyportError> {
  const error = await reading.catch((thrown: unknown) => thrown)
  if (!(error instanceof SallyportError)) throw new Error('No error of ours was thrown.')
  return error
}

describe(`${promise('KIT-8')} the file`, () => {
  const entry = (url: string) => `mcp_servers: {a: {type: client, url: "${url}"}}`
  const urlOf = async (options: KitConfigOptions) => (await read('a', options)).settings.url

  it('is the named one, otherwise that of $SALLYPORT_HOME, otherwise the nearest', async () => {
    const environment = { SALLYPORT_HOME: join(cwd, 'home'), XDG_CONFIG_HOME: join(cwd, 'xdg') }
    const { XDG_CONFIG_HOME } = environment
    write('xdg/sallyport/config.yaml', entry('xdg'))
    expect(await urlOf({ environment: { XDG_CONFIG_HOME } })).toBe('xdg')
    write('.sallyport/config.yaml', entry('project'))
    expect(await urlOf({ environment: { XDG_CONFIG_HOME } })).toBe('project')
    write('config.json', JSON.stringify({ mcpServers: { a: { type: 'client', url: 'json' } } }))
    expect(await urlOf({ environment: { XDG_CONFIG_HOME } })).toBe('json')
    write('config.yaml', entry('here'))
    expect(await urlOf({ environment: { XDG_CONFIG_HOME } })).toBe('here')
    write('home/config.yaml', entry('home'))
    expect(await urlOf({ environment })).toBe('home')
    write('other.yaml', entry('named'))
    expect(await urlOf({ environment, configPath: 'other.yaml' })).toBe('named')
  })

  it('that is named but missing is an error, even if there are others', async () => {
    write('config.yaml', entry('here'))
    expect((await errorOf(read('a', { configPath: 'nope.yaml' }))).message).toContain('nope.yaml')
    const environment = { SALLYPORT_HOME: join(cwd, 'nowhere') }
    expect((await errorOf(read('a', { environment }))).message).toContain(join('nowhere', 'config.yaml'))
  })

  it('is quoted with its servers when an unknown one is requested', async () => {
    write('config.yaml', 'mcp_servers: {records: {url: x}, files: {command: y}}')
    const error = await errorOf(read('record'))
    expect(error.code).toBe('SERVER_UNKNOWN')
    expect(error.message).toContain('Did you mean "records"? It has: records, files.')
    expect((await errorOf(read('constructor'))).code).toBe('SERVER_UNKNOWN')
  })

  it.each([
    ['broken', 'mcp_servers: {a: "hunter2'],
    ['two keys', 'mcp_servers:\n  a: {url: hunter2, url: hunter3}'],
    ['two documents', 'a: hunter2\n---\nb: 1'],
    ['a bomb of aliases', `a: &a [hunter2]\n${bomb()}`],
    ['no mapping', 'mcp_servers: {a: hunter2}'],
    ['two spellings of the section', 'mcp_servers: {a: {url: hunter2}}\nmcpServers: {}'],
    ['two spellings of a key', 'mcp_servers: {a: {url: x, read_timeout: hunter2, readTimeout: hunter2}}'],
    ['a list for a mapping', 'mcp_servers: {a: {type: server, auth: [hunter2]}}'],
    ['an unknown type', 'mcp_servers: {a: {type: clinet, url: hunter2}}'],
    ['deep nesting', `mcp_servers: {a: ${'['.repeat(50_000)}`],
  ])('with %s is an error that names the file and contains none of its values', async (_, text) => {
    const file = write('config.yaml', text)
    const error = await errorOf(read('a'))
    expect(error.message).toContain(file)
    expect(`${error.text} ${String(error.cause)}`).not.toContain('hunter')
  })

  it('that is a FIFO or a folder is refused without waiting', async () => {
    mkdirSync(join(cwd, 'config.yaml'))
    expect((await errorOf(read('a'))).message).toContain('not a regular file')
    execFileSync('mkfifo', [join(cwd, 'pipe.yaml')])
    expect((await errorOf(read('a', { configPath: 'pipe.yaml' }))).message).toContain('not a regular file')
  })
})

function bomb(): string {
  const level = (name: string, of: string) =>
    `${name}: &${name} [${Array.from({ length: 10 }, () => `*${of}`).join(', ')}]`
  return ['b:a', 'c:b', 'd:c', 'e:d', 'f:e'].map((pair) => level(...(pair.split(':') as [string, string]))).join('\n')
}

describe(`${promise('KIT-8')} an entry`, () => {
  it.each([
    ['type: server', 'server'],
    ['type: client, url: x', 'client'],
    ['url: x', 'upstream'],
    ['command: x', 'upstream'],
    ['type: stdio, command: x', 'upstream'],
    ['type: sse, url: x', 'upstream'],
    ['type: docker-gateway', 'upstream'],
  ])('with %s is of the kind %s', async (text, kind) => {
    write('config.yaml', `mcp_servers: {a: {${text}}}`)
    expect((await read('a')).kind).toBe(kind)
  })

  it('has its variables expanded in every string, also in lists and mappings', async () => {
    write(
      'config.yaml',
      `mcp_servers:
  a:
    command: "\${BIN}"
    args: ["--url=\${URL}/x", "\${MISSING:-d}", "$\${BIN}", ["\${BIN}"], "$HOME"]
    env: { Some_Name: "\${URL}", BIN: "\${EMPTY:-e}" }
    timeouts: { call: "\${TIME:-5s}" }
    read_timeout: 60
`,
    )
    const environment = { BIN: 'run', URL: 'http://${BIN}', EMPTY: '' }
    expect((await read('a', { environment })).settings).toEqual({
      command: 'run',
      args: ['--url=http://${BIN}/x', 'd', '${BIN}', ['run'], '$HOME'],
      env: { Some_Name: 'http://${BIN}', BIN: 'e' },
      timeouts: { call: '5s' },
      readTimeout: 60,
    })
    expect(warnings).toEqual([])
  })

  it('whose variables are not set is an error that names file, line, key and variable, for each', async () => {
    const file = write(
      'config.yaml',
      'mcp_servers:\n  a:\n    type: server\n    auth:\n      jwt: { secret: "${JWT_SECRET}" }\n    instructions: "${B:?say how}"\n    allowed_hosts: [x, "${constructor}"]\n',
    )
    const { message, code } = await errorOf(read('a', { environment: { OTHER: 'hunter2' } }))
    expect(code).toBe('CONFIG_INVALID')
    expect(message.split('\n')).toEqual([
      `${file}:5: mcp_servers.a.auth.jwt.secret: the variable JWT_SECRET is not set.`,
      `${file}:6: mcp_servers.a.instructions: the variable B is not set: say how.`,
      `${file}:7: mcp_servers.a.allowed_hosts.1: the variable constructor is not set.`,
    ])
  })

  it('does not need the variables of other entries', async () => {
    write('config.yaml', 'mcp_servers: {a: {url: x}, b: {url: "${NOPE}"}}')
    expect((await read('a')).settings).toEqual({ url: 'x' })
  })

  it('means the same in both spellings, and does not change foreign names', async () => {
    write('config.yaml', 'mcpServers: {a: {urlIsolated: x, readTimeout: 5, headers: {X_Some-Name: y}}}')
    const camel = await read('a')
    write('config.yaml', 'mcp_servers: {a: {url_isolated: x, read_timeout: 5, headers: {X_Some-Name: y}}}')
    expect((await read('a')).settings).toEqual(camel.settings)
    expect(camel.settings).toEqual({ urlIsolated: 'x', readTimeout: 5, headers: { 'X_Some-Name': 'y' } })
  })

  it('warns about unknown keys, without their values', async () => {
    const file = write(
      'config.yaml',
      'mcp_servers:\n  a:\n    type: server\n    instuctions: hunter2\n    auth: {jwt: {secert: hunter2}}\n',
    )
    expect((await read('a')).settings).toEqual({ type: 'server', auth: { jwt: {} } })
    expect(warnings).toEqual([
      `${file}:4: mcp_servers.a.instuctions: this key is not known and is ignored. Did you mean "instructions"?`,
      `${file}:5: mcp_servers.a.auth.jwt.secert: this key is not known and is ignored. Did you mean "secret"?`,
    ])
  })

  it('knows every key that the gateway knows', async () => {
    const schema = JSON.parse(readFileSync(new URL('../../../gateway/config.schema.json', import.meta.url), 'utf8'))
    const keys = Object.keys(schema.properties.mcp_servers.additionalProperties.properties)
    const entry = Object.fromEntries(keys.filter((key) => !/[A-Z]/.test(key)).map((key) => [key, {}]))
    write('config.json', JSON.stringify({ mcp_servers: { a: { ...entry, type: 'stdio' } } }))
    await read('a')
    expect(warnings).toEqual([])
  })
})

describe(`${promise('KIT-8')} .env`, () => {
  it('is the one beside the configuration, whatever is in the working folder', async () => {
    const home = { SALLYPORT_HOME: join(cwd, 'operator') }
    write('.env', 'URL=http://of-the-repository\n')
    write('operator/config.yaml', 'mcp_servers: { a: { type: client, url: "${URL:-none}" } }')
    expect((await read('a', { environment: home })).settings.url).toBe('none')
    expect((await read('a', { configPath: 'operator/config.yaml' })).settings.url).toBe('none')
    write('operator/.env', 'URL=http://of-the-operator\n')
    expect((await read('a', { environment: home })).settings.url).toBe('http://of-the-operator')
  })

  it('is read after the environment, and is not inherited by child processes', async () => {
    write('.env', '# mine\nexport TOKEN="from file"\nURL=from-file\n__proto__=x\n')
    write('config.yaml', 'mcp_servers: {a: {command: "${TOKEN}", url: "${URL}"}}')
    const environment = { URL: 'real' }
    expect((await read('a', { environment })).settings).toEqual({ command: 'from file', url: 'real' })
    expect(environment).toEqual({ URL: 'real' })
    const program = 'console.log(process.env.TOKEN ?? "nothing")'
    expect(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })).toBe('nothing\n')
  })

  it('does not replace a variable that is set to an empty string', async () => {
    write('.env', 'TOKEN=from-file\n')
    write('config.yaml', 'mcp_servers: {a: {url: "x${TOKEN}"}}')
    expect((await read('a', { environment: { TOKEN: '' } })).settings.url).toBe('x')
  })

  it('may begin with a byte order mark, and is ignored if it is a folder', async () => {
    write('config.yaml', 'mcp_servers: {a: {url: "${TOKEN:-none}"}}')
    write('.env/bin/activate', '')
    expect((await read('a')).settings.url).toBe('none')
    rmSync(join(cwd, '.env'), { recursive: true })
    write('.env', '\ufeffTOKEN=x\n')
    expect((await read('a')).settings.url).toBe('x')
  })
})

it('by default the environment, folder and standard error of the program are used', async () => {
  write('config.yaml', 'mcp_servers: {a: {url: "${MY_URL}", nope: 1}}')
  const here = process.cwd()
  process.chdir(cwd)
  process.env.MY_URL = 'https://x'
  onTestFinished(() => {
    process.chdir(here)
    delete process.env.MY_URL
  })
  expect((await readKitConfig('a', { onWarning: () => undefined })).settings).toEqual({ url: 'https://x' })
})
