import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { asOrdinaryUser } from '../config/home/home.test-kit.ts'
import { ADAPTERS, findAdapter, type HostContext, readAgentConfigs } from './agents.ts'

function scratch(): HostContext & { file(path: string, text: string | Buffer): string } {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-agents-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const host = { environment: {}, platform: process.platform, home: join(folder, 'home'), cwd: join(folder, 'work') }
  const file = (path: string, text: string | Buffer): string => {
    const full = join(folder, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, text)
    return full
  }
  return { ...host, file }
}

/** What is there, as one text for each file. */
async function seen(host: HostContext, id: string): Promise<readonly string[]> {
  const readings = await readAgentConfigs(findAdapter(id), host)
  return readings.map((reading) => {
    if (reading.state === 'read') return reading.config.servers.map(({ name }) => name).join(',') || 'none'
    return reading.state === 'missing' ? 'missing' : reading.error.text.replaceAll(dirname(host.home), '')
  })
}

describe(`the files of agents (${promise('AG-3')})`, () => {
  it('may be missing, also if a parent folder is a file', async () => {
    const host = scratch()
    expect(await seen(host, 'cursor')).toEqual(['missing', 'missing'])
    host.file('home/.cursor', 'a file')
    expect(await seen(host, 'cursor')).toEqual(['missing', 'missing'])
  })

  it('may be empty, start with a byte order mark, and have Windows line ends', async () => {
    const host = scratch()
    host.file('home/.cursor/mcp.json', '')
    host.file('work/.cursor/mcp.json', '\uFEFF{\r\n  // mine\r\n  "mcpServers": {"a b": {"command": "x"},},\r\n}\r\n')
    expect(await seen(host, 'cursor')).toEqual(['none', 'a b'])
    host.file('home/.codex/config.toml', '\uFEFF[mcp_servers.a]\r\ncommand = "x"\r\n')
    expect(await seen(host, 'codex')).toEqual(['a', 'missing'])
    host.file('home/.config/goose/config.yaml', '\uFEFFextensions:\r\n  a: {type: stdio, cmd: x}\r\n')
    expect(await seen(host, 'goose')).toEqual(['a'])
  })

  it('may contain servers with any name, and thousands of them', async () => {
    const host = scratch()
    const names = ['__proto__', 'constructor', 'toString', 'a b', 'ä.ö', '日本', '', '1', ' ', 'a/b', '\u202Egpj']
    const many = Array.from({ length: 5_000 }, (_, n) => `server ${n}`)
    const entries = [...names, ...many].map((name) => `${JSON.stringify(name)}: {"command": "x", "args": ["$A"]}`)
    host.file('home/.cursor/mcp.json', `{ /* */ "mcpServers": {${entries.join(',')}} }`)
    const [reading] = await readAgentConfigs(findAdapter('cursor'), host)
    const servers = reading?.state === 'read' ? reading.config.servers : []
    expect(new Set(servers.map(({ name }) => name))).toEqual(new Set([...names, ...many]))
    expect(servers.every(({ entry }) => JSON.stringify(entry) === '{"command":"x","args":["$A"]}')).toBe(true)
  })

  it('are reported with line and column if they are broken, and do not affect the others', async () => {
    const host = scratch()
    host.file('home/.cursor/mcp.json', '{\n  "mcpServers": {"a": }\n}')
    host.file('work/.cursor/mcp.json', '{"mcpServers": {"b": {"command": "x"}}}')
    const [broken, good] = await seen(host, 'cursor')
    expect(broken).toMatch(/^\/home\/\.cursor\/mcp\.json:2:\d+: expected a value\. Correct the file/)
    expect(good).toBe('b')
  })

  it.each([
    ['[]', /mcp\.json:1:1: expected an object/],
    ['"text"', /mcp\.json:1:1: expected an object/],
    ['{"mcpServers": "text"}', /expected mcpServers to contain servers by name/],
    ['{"mcpServers": 7}', /expected mcpServers to contain servers by name/],
  ])('are broken if they have another format: %s', async (text, problem) => {
    const host = scratch()
    host.file('home/.cursor/mcp.json', text)
    expect((await seen(host, 'cursor'))[0]).toMatch(problem)
  })

  it('may have invalid entries beside servers, which are reported', async () => {
    const host = scratch()
    host.file('home/.cursor/mcp.json', '{"mcpServers": {"a": {"command": "x"}, "sk-1": "text", "c": null}}')
    const [reading] = await readAgentConfigs(findAdapter('cursor'), host)
    expect(reading).toMatchObject({
      config: { servers: [{ name: 'a' }], problems: [/^"sk-1" is left out/, /^"c" is left out/].map(matching) },
    })
  })

  it.each(ADAPTERS.filter(({ supportsMcp }) => supportsMcp).map(({ id }) => [id]))(
    'are refused with their line where a section is of the wrong type: %s',
    (id) => {
      const adapter = findAdapter(id)
      for (const file of adapter.nativeFiles(scratch())) {
        const { serversPath } = adapter.getMcpConfig('', file)
        for (const [at, key] of serversPath.entries()) {
          const inner = serversPath
            .slice(0, at)
            .reduceRight((text, outer) => `{${JSON.stringify(outer)}:\n${text}}`, `{"${key}": 7}`)
          const text = file.path.endsWith('.toml') ? `\n${key} = 7\n` : `\n${inner}`
          const line = at + 2
          expect(() => adapter.getMcpConfig(text, file)).toThrow(
            new RegExp(
              `:${line}:\\d+: expected ${serversPath
                .slice(0, at + 1)
                .join('.')
                .replaceAll(/[^\w.]/g, '.')} `,
            ),
          )
        }
      }
    },
  )

  it('are refused with their line if they have a list instead of a mapping', () => {
    const file = { path: '/x/mcp.json', scope: 'user' } as const
    expect(() => findAdapter('cursor').getMcpConfig('{\n\n"mcpServers": [{"name": "a"}]}', file)).toThrow(':3:15: ')
  })

  it('are reported if other users may write to them', async () => {
    const host = scratch()
    const path = host.file('home/.cursor/mcp.json', '{"mcpServers": {"a": {"command": "x"}}}')
    const problems = async (mode: number): Promise<unknown> => {
      chmodSync(path, mode)
      const [reading] = await readAgentConfigs(findAdapter('cursor'), host)
      return reading?.state === 'read' ? reading.config.problems : reading
    }
    expect(await problems(0o644)).toEqual([])
    expect(await problems(0o646)).toEqual([matching(/^Other users may write to it.*chmod go-w/)])
  })

  it('are refused if they are not text, too large, or not regular files', async () => {
    const host = scratch()
    const path = host.file('home/.cursor/mcp.json', Buffer.from('{"a": "\xff\xfe"}', 'latin1'))
    expect((await seen(host, 'cursor'))[0]).toMatch(/is not valid UTF-8\. Save it as UTF-8\./)
    truncateSync(path, 50 * 1024 ** 2)
    expect((await seen(host, 'cursor'))[0]).toMatch(/is larger than 32 MB/)
    rmSync(path)
    mkdirSync(path)
    expect((await seen(host, 'cursor'))[0]).toMatch(/is not a regular file/)
    rmSync(path, { recursive: true })
    execFileSync('mkfifo', [path])
    expect((await seen(host, 'cursor'))[0]).toMatch(/is not a regular file/)
    rmSync(path)
    symlinkSync(path, path)
    expect((await seen(host, 'cursor'))[0]).toMatch(/cannot be read \(ELOOP\)/)
    rmSync(path)
    symlinkSync('/dev/zero', path)
    expect((await seen(host, 'cursor'))[0]).toMatch(/is not a regular file/)
  })

  it('are refused if they cannot be read', async () => {
    const host = scratch()
    chmodSync(dirname(host.home), 0o755)
    chmodSync(host.file('home/.cursor/mcp.json', '{}'), 0o000)
    const [reading] = await asOrdinaryUser(() => seen(host, 'cursor'))
    expect(reading).toMatch(/cannot be read \(EACCES\)\. Give the user who runs this the right to read it\./)
  })

  it(`stay unchanged, including their bytes and times (${promise('AG-2')})`, async () => {
    const host = scratch()
    const files = ADAPTERS.flatMap((adapter) => adapter.nativeFiles(host)).map(({ path }) => path)
    const texts = files.map((path) => host.file(path.slice(dirname(host.home).length + 1), `{"n": "${path}"}`))
    const state = () =>
      texts.map((path) => [createHash('sha256').update(readFileSync(path)).digest('hex'), statSync(path).mtimeMs])
    const before = state()
    for (const adapter of ADAPTERS) await readAgentConfigs(adapter, host)
    expect(state()).toEqual(before)
  })
})

describe(`an agent without MCP (${promise('AG-5')})`, () => {
  it('has no servers, and that is not an error', async () => {
    const aider = findAdapter('aider')
    expect(await readAgentConfigs(aider, scratch())).toEqual([])
    expect(aider.supportsMcp).toBe(false)
    expect(aider.getMcpConfig('{broken', { path: '/x', scope: 'user' }).servers).toEqual([])
  })
})

const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern)
