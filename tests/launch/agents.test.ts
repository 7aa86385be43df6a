import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ADAPTERS, findProgram } from '../../packages/gateway/src/agents/agents.ts'
import { canTrace, traceFiles } from '../harness/native-files.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { textOf } from '../harness/repository.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { promise } from '../promises.ts'

const SECRET = 'sk-7d1c5e0b9a'

/** A machine of its own: a home, a project, and a folder with programs. */
function machine() {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-machine-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [home, cwd, bin] = ['home', 'work', 'bin'].map((name) => join(root, name)) as [string, string, string]
  for (const folder of [home, cwd, bin]) mkdirSync(folder)
  // No program of this machine's own is to be found.
  for (const name of ['cat', 'sleep', 'strace']) {
    const path = findProgram(name, { environment: process.env, platform: process.platform })
    if (path !== undefined) symlinkSync(path, join(bin, name))
  }
  const file = (path: string, text: string, mode = 0o644): string => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }
  const program = (name: string, script: string): string => file(join(bin, name), `#!/bin/sh\n${script}\n`, 0o755)
  const environment = { HOME: home, PATH: bin, XDG_CONFIG_HOME: '', SALLYPORT_TEST_MARK: root }
  return { root, home, cwd, file, program, options: { cwd, env: environment } }
}

const PLACE = { environment: {}, platform: process.platform }

describe('sallyport agents', () => {
  it('shows what is installed, how many servers it has in which file, and what can be enforced', async () => {
    const { home, cwd, file, program, options } = machine()
    program('claude', 'echo "2.1.325 (Claude Code)"')
    const local = { [cwd]: { mcpServers: { three: { command: 'x' } } } }
    const servers = { one: { command: 'x', env: { KEY: SECRET } }, two: { command: 'x' } }
    file(join(home, '.claude.json'), JSON.stringify({ mcpServers: servers, projects: local }))
    file(join(cwd, '.mcp.json'), '{ /* ours */ "mcpServers": {"four": {"command": "x"},}, }')
    file(join(home, '.codex/config.toml'), '[mcp_servers.docs]\ncommand = "x"\n')
    const { code, stdout, stderr } = await runCommand(['agents'], options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^claude-code +2\.1\.325 +2 user, 1 project, 1 local +strict +\S+\.claude\.json, \S+\.mcp\.json$/m,
    )
    expect(stdout).toMatch(/^codex +not in PATH +1 user +strict +\S+config\.toml$/m)
    expect(stdout).not.toMatch(/^amp /m)
    const one = await runCommand(['agents', 'claude'], options)
    expect(one.stdout).toMatch(/^user +\S+\.claude\.json\n +one, two$/m)
    expect(one.stdout).toMatch(/^enforces +strict: Only our server/m)
    expect(stdout + one.stdout).not.toContain(SECRET)
  })

  it(`lists the sub-agent that is built in, as the home has it (${promise('ISO-5')})`, async () => {
    const { home, file, options } = machine()
    expect((await runCommand(['agents'], options)).stdout).toContain('mcp-executor (MCP Tool Executor)')
    const config = `
isolation: {model: {provider: openai-compatible, name: tiny, base_url: "http://127.0.0.1:9/v1", api_key: "${SECRET}"}}
agents: {mcp-executor: {max_turns: 5, system_prompt: Be quick.}}`
    file(join(home, '.config/sallyport/config.yaml'), config)
    const { stdout } = await runCommand(['agents', 'mcp-executor'], options)
    expect(stdout).toMatch(/^model +openai-compatible\/tiny$/m)
    expect(stdout).toMatch(/^limits +5 turns/m)
    expect(stdout).toMatch(/^input +serverName, toolName, toolInput$/m)
    expect(stdout).toMatch(/^system prompt +Be quick\.$/m)
    const { built_in } = JSON.parse((await runCommand(['agents', '--json'], options)).stdout)
    expect(built_in).toMatchObject([{ name: 'mcp-executor', enabled: true, maxTurns: 5 }])
    expect(stdout + JSON.stringify(built_in)).not.toContain(SECRET)
  })

  it(`reports everything to programs except the values (${promise('AG-5')})`, async () => {
    const { home, file, options } = machine()
    file(join(home, '.cursor/mcp.json'), `{"mcpServers": {"__proto__": {"command": "x", "args": ["${SECRET}"]}}}`)
    const { code, stdout } = await runCommand(['agents', '--all', '--json'], options)
    const { agents } = JSON.parse(stdout) as { agents: Record<string, unknown>[] }
    expect(code).toBe(0)
    expect(agents.map(({ id }) => id)).toEqual(ADAPTERS.map(({ id }) => id))
    expect(agents.find(({ id }) => id === 'cursor')).toMatchObject({
      program: null,
      files: [
        { scope: 'user', state: 'read', servers: ['__proto__'] },
        { scope: 'project', state: 'missing', servers: [] },
      ],
      enforcement: { level: 'none' },
    })
    expect(agents.find(({ id }) => id === 'aider')).toMatchObject({ supportsMcp: false, files: [] })
    expect(stdout).not.toContain(SECRET)
  })

  it(`reports a broken file with line and column, and shows the others (${promise('AG-3')})`, async () => {
    const { home, file, options } = machine()
    file(join(home, '.cursor/mcp.json'), `{\n  "mcpServers": {"a": {"env": "${SECRET}" }\n}`)
    mkdirSync(join(home, '.gemini/settings.json'), { recursive: true })
    file(join(home, '.qwen/settings.json'), '{"mcpServers": {"b": {"command": "x"}, "\\u001b[31mred": 1}}')
    const { code, stdout, stderr } = await runCommand(['agents'], options)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^cursor .* 1 broken /m)
    expect(stdout).toMatch(/^qwen-code .* 1 user /m)
    expect(stderr).toMatch(/^✗ Cursor: \S+\.cursor\/mcp\.json:3:2: expected "[,}]"\./m)
    expect(stderr).toMatch(/^✗ Gemini CLI: \S+settings\.json is not a regular file\./m)
    expect(stderr).toMatch(/^✗ Qwen Code: .*red" is left out/m)
    expect(stdout + stderr).not.toContain(SECRET)
    expect(stdout + stderr).not.toContain('\u001b')
  })

  it('knows an agent by its aliases, and guesses which was meant', async () => {
    const { options } = machine()
    expect(JSON.parse((await runCommand(['agents', 'CLAUDE_CODE', '--json'], options)).stdout).id).toBe('claude-code')
    const slip = await runCommand(['agents', 'gemni', '--json'], options)
    expect({ code: slip.code, error: errorOf(slip) }).toMatchObject({
      code: 3,
      error: { code: 'AGENT_UNKNOWN', message: 'There is no agent "gemni". Did you mean "gemini"?' },
    })
  })

  it('stops a program that hangs, and leaves no process behind', async () => {
    const { root, program, options } = machine()
    program('claude', 'sleep 1000 & echo 1.2.3')
    program('codex', 'sleep 1000')
    program('gemini', 'exec cat /dev/zero')
    program('qwen', 'exit 7')
    program('copilot', 'echo "GitHub Copilot CLI 1.0.102-beta.1+5."; echo "Released 2026.11"')
    const { stdout } = await runCommand(['agents', '--json'], options)
    const { agents } = JSON.parse(stdout) as { agents: { id: string; program: object }[] }
    expect(Object.fromEntries(agents.map(({ id, program }) => [id, program]))).toMatchObject({
      'claude-code': { version: '1.2.3' },
      codex: { problem: 'It did not answer within 5 s.' },
      'gemini-cli': { problem: 'It printed no version.' },
      'qwen-code': { problem: 'It printed no version.' },
      copilot: { version: '1.0.102-beta.1+5' },
    })
    await eventually(
      () => processesWith(root),
      (left) => left.length === 0,
    )
  })

  it('runs no program of the current folder, whatever PATH says', async () => {
    const { cwd, file, options } = machine()
    file(join(cwd, 'claude'), '#!/bin/sh\necho 6.6.6\n', 0o755)
    const env = { ...options.env, PATH: `.::${options.env.PATH}` }
    expect((await runCommand(['agents', '--json'], { cwd, env })).stdout).not.toContain('6.6.6')
  })
})

describe('docs/agents.md', () => {
  const rows = textOf('docs/agents.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))

  it.each(ADAPTERS.map((adapter) => [adapter.id, adapter] as const))(
    'says of %s what its adapter says',
    (id, adapter) => {
      const [files, launch, results, ...more] = rows.filter(([, cell]) => cell === `\`${id}\``)
      const keys = [adapter.toolFilter?.include, adapter.toolFilter?.exclude].filter((key) => key !== undefined)
      const filter = keys.map((key) => `\`${key}\``).join(', ') || (adapter.supportsMcp ? 'through the gateway' : '')
      expect(launch?.slice(2, 4)).toEqual([adapter.enforcement.level, filter])
      const named = adapter
        .nativeFiles({ ...PLACE, home: '~', cwd: '' })
        .map(({ path }) => path.split('/').at(-1) ?? '')
      for (const name of named) expect(files?.join()).toContain(name.replace(/^(opencode|kilo)\.jsonc$/, '.jsonc'))
      expect(results?.[2]).toMatch(adapter.supportsMcp ? new RegExp(`^${adapter.results.maxCharacters}\\b`) : /^$/)
      // The rest are its sources of servers, which have a test of their own.
      expect(more.filter(([, , , what]) => !/^(kept away|not started|\*\*stays\*\*): /.test(what ?? ''))).toEqual([])
    },
  )
})

describe(`the files of agents (${promise('AG-2')})`, () => {
  const tracing = canTrace()

  function fullMachine() {
    const all = machine()
    const place = { ...PLACE, home: all.home, cwd: all.cwd }
    const paths = ADAPTERS.flatMap((adapter) => adapter.nativeFiles(place)).map(({ path }) => path)
    for (const path of paths) all.file(path, '{"mcpServers": {"a": {"command": "x"}}}')
    return { ...all, paths: [...new Set(paths)] }
  }

  const state = (paths: readonly string[]) =>
    paths.map((path) => [readFileSync(path, 'utf8'), statSync(path).mtimeMs, statSync(path).ino])

  it('stay as they are', async () => {
    const { paths, options } = fullMachine()
    const before = state(paths)
    await runCommand(['agents', '--json'], options)
    expect(state(paths)).toEqual(before)
  })

  // Where strace is missing and cannot be installed, only the test above is left.
  it.runIf(tracing)('are only opened for reading, by us and by all processes that we start', async () => {
    const { root, paths, program, options } = fullMachine()
    program('claude', 'echo 1.2.3')
    const { outcome, read, changes } = await traceFiles(['agents', '--json'], root, options)
    expect(outcome.code).toBe(0)
    expect(read).toEqual(expect.arrayContaining(paths))
    expect(changes).toEqual([])
  })

  it
    .runIf(tracing)
    .each([
      [['import', '--yes', '--project']],
      [['run', 'claude', '--native']],
      [['run', 'gemini', '--native', '--profile', 'default']],
    ])('are only read by %j', async (args) => {
    const { root, paths, program, options } = fullMachine()
    for (const name of ['claude', 'gemini']) program(name, 'exit 0')
    const { outcome, read, changes } = await traceFiles(args, root, options)
    expect(outcome).toMatchObject({ code: 0 })
    expect(read.some((path) => paths.includes(path))).toBe(true)
    expect(changes.length).toBeGreaterThan(0)
    expect(changes.filter((call) => paths.some((path) => call.includes(`"${path}"`)))).toEqual([])
  })

  it.runIf(tracing)('would be reported if they were written', async () => {
    const { root, home, program, options } = fullMachine()
    program('claude', 'echo x >> "$HOME/.claude.json"')
    const { changes } = await traceFiles(['agents', '--json'], root, options)
    expect(changes).toEqual([expect.stringContaining(`"${join(home, '.claude.json')}", O_WRONLY|O_CREAT|O_APPEND`)])
  })
})
