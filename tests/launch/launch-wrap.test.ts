import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { promise } from '../promises.ts'
import { LaunchBench } from './launch-bench.ts'

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

interface Setting {
  /** Servers of the gateway, by id: what distinguishes each. */
  readonly gateway: Readonly<Record<string, string>>
  readonly own: Readonly<Record<string, string>>
  readonly selected?: readonly string[]
}

/** The same server offers the same tools, whatever its name and position. */
function bench({ gateway, own, selected }: Setting): LaunchBench {
  const at = new LaunchBench()
  undo.push(() => at.close())
  const entries = (names: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(names).map(([name, word]) => [name, at.server(word)]))
  at.place.writeConfig({
    gateway: { linger: '100ms' },
    context: { cap: 'off' },
    mcp_servers: entries(gateway),
  })
  at.write('.claude.json', JSON.stringify({ mcpServers: entries(own) }))
  at.write('project/.mcp.json', '{}')
  if (selected) at.writeProfiles({ CLAUDE_CODE: { DEFAULT: { selected_mcp_tools: selected } } })
  return at
}

const NATIVE = { flags: ['--native'] }

describe(`${promise('AG-4')} of an agent without a filter of its own, a server with single tools selected`, () => {
  it('comes through the gateway under its own name, with those tools, besides others that are passed on unchanged', async () => {
    const own = { docs: 'a', plain: 'b', other: 'c' }
    const at = bench({ gateway: { docs: 'a' }, own, selected: ['docs/echo', 'plain'] })
    const before = at.userFiles()
    const run = at.start(['exit=0'], NATIVE)
    expect(await run.end()).toBe(0)
    const { servers } = await run.seen()
    expect(Object.keys(servers).sort()).toEqual(['docs', 'plain'])
    expect(servers.docs).toEqual(['docs_echo'])
    expect(servers.plain).toContain('pid')
    expect(at.userFiles()).toEqual(before)
    await at.untilEmpty()
    expect([at.runs(), at.tokens()]).toEqual([[], []])
  })

  it('cannot be asked for another tool there, nor for one of another server', async () => {
    const at = bench({
      gateway: { docs: 'a', more: 'b' },
      own: { docs: 'a', more: 'b' },
      selected: ['docs/echo', 'more'],
    })
    for (const tool of ['docs_pid', 'more_echo']) {
      const run = at.start(['call'], { ...NATIVE, env: { FAKE_SERVER: 'docs', FAKE_TOOL: tool } })
      expect(await run.end()).toBe(0)
      const { answer } = await run.seen()
      expect(answer?.result).toMatchObject({ isError: true, _meta: { 'sallyport/error': { code: 'CALL_DENIED' } } })
    }
  })

  it('is found in the gateway by its command or URL, and not by its name', async () => {
    const at = bench({ gateway: { theirs: 'a', mine: 'b' }, own: { mine: 'a' } })
    const run = at.start(['exit=0'], { flags: ['--native', '--tools', 'mine/echo'] })
    expect(await run.end()).toBe(0)
    expect((await run.seen()).servers).toEqual({ mine: ['theirs_echo'] })
  })

  it('is left out if the gateway does not have it, or has it switched off, with a hint', async () => {
    const at = bench({ gateway: { docs: 'another' }, own: { docs: 'a' }, selected: ['docs/echo'] })
    const run = at.start(['exit=0'], NATIVE)
    expect(await run.end()).toBe(0)
    expect((await run.seen()).servers).toEqual({})
    expect(run.stderr()).toContain('docs is left out')
    expect(run.stderr()).toContain('sallyport import')
    expect(at.processes()).toEqual([])
    at.place.writeConfig({ mcp_servers: { docs: { ...at.server('a'), enabled: false } } })
    const again = at.start(['exit=0'], NATIVE)
    expect(await again.end()).toBe(0)
    expect((await again.seen()).servers).toEqual({})
  })

  it.each([
    { selected: ['docs', '!docs/pid'], tools: ['docs/echo', 'docs/pid'], left: ['docs_echo'] },
    { selected: ['docs/e*'], tools: ['docs/echo', 'docs/pid'], left: ['docs_echo'] },
    { selected: ['docs/echo'], tools: ['docs'], left: ['docs_echo'] },
    { selected: ['*/echo', '!pid'], tools: undefined, left: ['docs_echo'] },
    { selected: ['docs/echo', 'docs/pid'], tools: ['docs', '!*pid*'], left: ['docs_echo'] },
    { selected: ['docs/echo'], tools: ['docs/pid'], left: undefined },
    { selected: ['docs/e*'], tools: ['docs/*o'], left: undefined },
    { selected: ['docs/echo', '!docs'], tools: undefined, left: undefined },
  ])('has with $selected and --tools $tools only $left', async ({ selected, tools, left }) => {
    const at = bench({ gateway: { docs: 'a' }, own: { docs: 'a' }, selected })
    const flags = ['--native', ...(tools ?? []).flatMap((tool) => ['--tools', tool])]
    const run = at.start(['exit=0'], { flags })
    expect(await run.end()).toBe(0)
    expect((await run.seen()).servers.docs).toEqual(left)
  })

  it('loses its token at once when the run is killed, as every other one does', async () => {
    const own = { docs: 'a', more: 'b' }
    const at = bench({ gateway: own, own, selected: ['docs/echo', 'more/pid'] })
    const run = at.start(['wait'], NATIVE)
    expect((await run.seen()).servers).toEqual({ docs: ['docs_echo'], more: ['more_pid'] })
    expect(at.tokens()).toHaveLength(2)
    const killed = once(run.child, 'exit')
    run.child.kill('SIGKILL')
    await killed
    await eventually(
      () => at.tokens(),
      (tokens) => tokens.length === 0,
    )
  })

  it('has another name if the agent would merge our entry with its own', async () => {
    const at = bench({ gateway: { docs: 'a' }, own: {} })
    const { command, args } = at.server('a')
    const toml = `[mcp_servers.docs]\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\nenv = { KEY = "k" }\n`
    at.write('.codex/config.toml', toml)
    const { stdout } = await print(at, ['codex', '--tools', 'docs/e*'])
    const table = JSON.parse(stdout).command[2] as string
    expect(table).toMatch(/"docs-gw"=\{.*"--window","1"/)
    expect(table).toContain('"docs"={"enabled"=false')
  })

  it('of goose is passed by a flag, like every one of its extensions that the gateway has', async () => {
    const at = bench({ gateway: { docs: 'a' }, own: {} })
    const { command: cmd, args } = at.server('a')
    const extensions = {
      docs: { type: 'stdio', cmd, args, enabled: true, envs: { KEY: 'a-secret' } },
      off: { type: 'stdio', cmd: 'off', enabled: false },
      absent: { type: 'stdio', cmd: 'absent', enabled: true },
    }
    at.write('.config/goose/config.yaml', JSON.stringify({ extensions }))
    const { stdout } = await print(at, ['goose'], ['run', '-t', 'x'])
    const { command, notes } = JSON.parse(stdout)
    expect(command.slice(1, 6)).toEqual([
      ...['run', '--no-profile', '--with-builtin', 'analyze,apps,developer,skills', '--with-extension'],
    ])
    expect(command[6]).toMatch(/^docs:.*serve --stdio/)
    expect(stdout).not.toContain('a-secret')
    expect(notes).toEqual([expect.stringContaining('absent is left out')])
  })
})

const print = (at: LaunchBench, [agent = '', ...flags]: readonly string[], args: readonly string[] = []) => {
  const { home, state } = at.place
  const where = ['--home', home, '--state', state]
  const command = ['run', agent, '--native', '--print', '--json', ...where, ...flags, '--', ...args]
  return runCommand(command, { env: { ...at.environment(), XDG_CONFIG_HOME: '', CODEX_HOME: '' } })
}
