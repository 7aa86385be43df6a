import { once } from 'node:events'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { inTerminal } from '../harness/in-terminal.ts'
import { eventually } from '../harness/processes.ts'
import { readRecords } from '../harness/run-gateway.ts'
import { LaunchBench } from '../launch/launch-bench.ts'
import { promise } from '../promises.ts'

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

function bench(config?: object): LaunchBench {
  const made = new LaunchBench(config)
  undo.push(() => made.close())
  return made
}

const noTokens = (at: LaunchBench): Promise<unknown> =>
  eventually(
    () => at.tokens(),
    (tokens) => tokens.length === 0,
  )

describe(`${promise('AG-14')} an agent that is run`, () => {
  it('has the gateway as its only server, and its tools in the first turn', async () => {
    const run = bench().start(['exit=0'])
    expect(await run.end()).toBe(0)
    const { servers, argv } = await run.seen()
    expect(Object.keys(servers)).toEqual(['gw'])
    expect(servers.gw).toEqual(expect.arrayContaining(['one_echo']))
    expect(argv).toContain('--strict-mcp-config')
  })

  it(`${promise('AG-16')} is not started with sources of other servers, unless that is allowed, and then it is recorded`, async () => {
    const at = bench()
    const refused = at.start(['exit=0', '--input-format=stream-json'])
    expect(await refused.end()).toBe(4)
    expect(refused.stderr()).toMatch(/AGENT_NOT_STRICT[\s\S]*--input-format[\s\S]*--allow-other-servers/)
    expect(at.processes()).toEqual([])
    const allowed = at.start(['exit=0', '--input-format=stream-json'], { flags: ['--allow-other-servers'] })
    expect(await allowed.end()).toBe(0)
    const [minted] = readRecords(at.place.state).filter(({ type }) => type === 'TOKEN_MINTED')
    expect(minted).toMatchObject({ agent: 'claude-code', other_servers: ['--input-format'] })
  })

  it.each([
    [['--tools', 'nowhere'], 'No tool is left by --tools'],
    [['--profile', 'none'], 'No tool is left by the profile claude-code.none'],
    [['--profile', 'echo', '--tools', 'nowhere'], 'No tool is left by the profile claude-code.echo and --tools'],
  ])(`${promise('AG-8')} causes a warning before the start if %j leaves it no tool`, async (flags, words) => {
    const at = bench()
    at.writeProfiles({
      CLAUDE_CODE: { NONE: { selected_mcp_tools: [] }, ECHO: { selected_mcp_tools: ['one/echo'] } },
    })
    expect(await at.start(['exit=0']).end()).toBe(0)
    const run = at.start(['exit=0'], { flags })
    expect(await run.end()).toBe(0)
    expect(run.stderr()).toContain(words)
  })

  it('leaves the user’s files unchanged, including their times', async () => {
    const at = bench()
    const before = at.userFiles()
    expect(await at.start(['exit=0']).end()).toBe(0)
    expect(at.userFiles()).toEqual(before)
  })

  it('ends the gateway that was started for it, and nothing of it is left', async () => {
    const at = bench()
    expect(await at.start(['exit=0']).end()).toBe(0)
    await at.untilEmpty()
    expect(at.runs()).toEqual([])
    expect(at.tokens()).toEqual([])
  })

  it('calls tools as the agent and the profile that the run names', async () => {
    const at = bench()
    at.writeProfiles({ CLAUDE_CODE: { REVIEWER: {} } })
    const run = at.start(['call'], { flags: ['--profile', 'reviewer'], env: { FAKE_TOOL: 'one_echo' } })
    await run.end()
    const [record] = readRecords(at.place.state).filter(({ type }) => type === 'TOOL_CALL_STARTED')
    expect(record).toMatchObject({ agent: 'claude-code', profile: 'reviewer', session: expect.stringMatching(/^run:/) })
  })

  it('has what its profile selects, while another agent has more', async () => {
    const at = bench()
    at.writeProfiles({ CLAUDE_CODE: { REVIEWER: { selected_mcp_tools: ['one/echo'] } } })
    const runs = [at.start(['exit=0'], { flags: ['--profile', 'Reviewer'] }), at.start(['exit=0'])]
    for (const run of runs) expect(await run.end()).toBe(0)
    const [few, many] = await Promise.all(runs.map(async (run) => (await run.seen()).servers.gw))
    expect(few).toEqual(['one_echo'])
    expect(many?.length).toBeGreaterThan(1)
  })

  it('has less for one run, and never more', async () => {
    const at = bench()
    at.writeProfiles({ CLAUDE_CODE: { DEFAULT: { selected_mcp_tools: ['one', '!one/add'] } } })
    const run = at.start(['exit=0'], { flags: ['--tools', 'one/echo', '--tools', 'one/add'] })
    expect(await run.end()).toBe(0)
    expect((await run.seen()).servers.gw).toEqual(['one_echo'])
  })

  it('is not started for a profile that does not exist', async () => {
    const at = bench()
    at.writeProfiles({ CLAUDE_CODE: { REVIEWER: { selected_mcp_tools: [] } } })
    const run = at.start(['exit=0'], { flags: ['--profile', 'reviewr'] })
    expect(await run.end()).toBe(3)
    expect(run.stderr()).toContain('claude-code.reviewer')
    expect(at.processes()).toEqual([])
  })

  it.each([
    ['--mcp-config', '--mcp-config=other.json'],
    ['--mcp-config', '--mcpConfig=other.json'],
    ['--agents', '--agents={"a": {"prompt": "p", "mcpServers": [{"more": {"command": "true"}}]}}'],
  ])('cannot bring its own servers back by %s', async (flag, arg) => {
    const run = bench().start([arg, 'exit=0'])
    expect(await run.end()).toBe(2)
    expect(run.stderr()).toContain(`${flag} would change the servers`)
  })

  it('shares one gateway with twenty others that start at the same instant', async () => {
    const at = bench()
    const before = at.userFiles()
    const runs = Array.from({ length: 20 }, (_, number) => at.start([`exit=${number}`]))
    expect(await Promise.all(runs.map((run) => run.end()))).toEqual(runs.map((_, number) => number))
    for (const run of runs) expect(Object.keys((await run.seen()).servers)).toEqual(['gw'])
    await at.untilEmpty()
    expect(at.runs()).toEqual([])
    expect(at.tokens()).toEqual([])
    expect(at.userFiles()).toEqual(before)
  }, 120_000)

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'keeps its tools when %s ends the gateway and another has to be started',
    async (signal) => {
      const at = bench()
      const run = at.start(['again'])
      const { pid } = await run.seen()
      const [gateway = 0] = await eventually(
        () => at.gateways(),
        (pids) => pids.length === 1,
      )
      process.kill(gateway, signal)
      await eventually(
        () => at.gateways(),
        (pids) => pids.length === 1 && pids[0] !== gateway,
      )
      process.kill(pid, 'SIGUSR2')
      expect(await run.end()).toBe(0)
      expect((await run.seen()).again).toBeGreaterThan(0)
      expect(at.tokens()).toEqual([])
    },
  )
})

describe(`${promise('AG-15')} a run`, () => {
  it('passes on the working folder, the arguments, the environment and the input unchanged', async () => {
    const at = bench()
    const run = at.start(['--odd', 'a b', '--json', '', 'read'], { stdin: 'pipe', env: { MINE: 'and mine' } })
    run.child.stdin?.end('what was piped\n')
    expect(await run.end()).toBe(0)
    const seen = await run.seen()
    expect(seen.argv.slice(-5)).toEqual(['--odd', 'a b', '--json', '', 'read'])
    expect(seen).toMatchObject({ cwd: at.project, input: 'what was piped\n', environment: { MINE: 'and mine' } })
  })

  it('keeps its files in a folder that nobody else can enter', async () => {
    const at = bench()
    const run = at.start(['wait'])
    const { argv } = await run.seen()
    const file = argv[0]?.slice('--mcp-config='.length) ?? ''
    const modes = [file, join(file, '..'), join(file, '../token')].map((path) => statMode(path))
    expect(modes).toEqual(['600', '700', '600'])
    run.child.kill('SIGTERM')
    await run.end()
    expect(existsSync(join(file, '..'))).toBe(false)
  })

  it('shows its token in no command line and in no environment', async () => {
    const at = bench()
    const run = at.start(['wait'])
    const { argv, environment } = await run.seen()
    const token = readFileSync(join(argv[0]?.slice('--mcp-config='.length) ?? '', '../token'), 'utf8').trim()
    expect(token).toMatch(/^spa_/)
    expect(JSON.stringify([argv, environment, at.processes()])).not.toContain(token)
    expect(readFileSync(argv[0]?.slice('--mcp-config='.length) ?? '', 'utf8')).not.toContain(token)
    run.child.kill('SIGTERM')
    await run.end()
  })

  it('passes on no other token, which may allow more than its profile, and no key of the gateway', async () => {
    const secrets = { SALLYPORT_TOKEN: 'of-another-profile', SALLYPORT_MASTER_KEY: '0f'.repeat(32) }
    const run = bench().start(['exit=0'], { env: secrets })
    expect(await run.end()).toBe(0)
    const { environment } = await run.seen()
    for (const name of Object.keys(secrets)) expect(environment).not.toHaveProperty(name)
  })

  it('ends with the exit code of the agent', async () => {
    const at = bench()
    expect(await at.start(['exit=73']).end()).toBe(73)
  })

  it('reports a killed agent as a shell does, and cleans up', async () => {
    const at = bench()
    const run = at.start(['wait'])
    process.kill((await run.seen()).pid, 'SIGKILL')
    expect(await run.end()).toBe(137)
    expect(at.runs()).toEqual([])
    expect(at.tokens()).toEqual([])
  })

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)('without a terminal passes %s on, once', async (signal) => {
    const at = bench()
    const run = at.start(['wait'], { through: (command) => ['setsid', '--wait', ...command] })
    await run.seen()
    const [pid = 0] = await eventually(
      () => at.launchers(),
      (pids) => pids.length === 1,
    )
    process.kill(pid, signal)
    expect(await run.end()).toBe(41)
    expect((await run.seen()).signals).toEqual([signal])
    expect(at.runs()).toEqual([])
  })

  it('that is killed loses its token at once, and its files at the next start', async () => {
    const at = bench()
    const before = at.userFiles()
    const run = at.start(['rejected'])
    await run.seen()
    expect(at.runs()).toHaveLength(1)
    const killed = once(run.child, 'exit')
    run.child.kill('SIGKILL')
    await killed
    await noTokens(at)
    // The agent outlives its run, but its window does not.
    await eventually(
      () => at.processes().filter((line) => line.includes('--launch')),
      (windows) => windows.length === 0,
    )
    expect(at.runs()).toHaveLength(1)
    expect(await at.start(['exit=0']).end()).toBe(0)
    expect(at.runs()).toEqual([])
    expect(at.userFiles()).toEqual(before)
  })

  it('does not touch the files of another run that is alive, or of a process with its number', async () => {
    const at = bench()
    const living = at.start(['wait'])
    await living.seen()
    const [name = ''] = at.runs()
    // The same pid, but another birth: the number was given to a process that came later.
    const [pid, , ...rest] = name.split('.')
    const dead = [pid, '1', ...rest.slice(0, -1), '0123456789ab'].join('.')
    mkdirSync(join(at.place.state, 'runs', dead))
    expect(await at.start(['exit=0']).end()).toBe(0)
    expect(at.runs()).toEqual([name])
    living.child.kill('SIGTERM')
    expect(await living.end()).toBe(41)
  })

  it('cleans up without following links', async () => {
    const at = bench()
    mkdirSync(join(at.place.state, 'runs', '1.1.1.00.0123456789ab'), { recursive: true })
    symlinkSync(at.userHome, join(at.place.state, 'runs', '1.1.1.00.0123456789ab', 'home'))
    chmodSync(at.place.state, 0o700)
    const before = at.userFiles()
    expect(await at.start(['exit=0']).end()).toBe(0)
    expect(at.runs()).toEqual([])
    expect(at.userFiles()).toEqual(before)
  })

  it('gives the agent the terminal that it was started in', async () => {
    const at = bench()
    const run = at.start(['exit=9'], { through: inTerminal })
    expect(await run.end()).toBe(9)
    expect((await run.seen()).terminal).toEqual([true, true, true])
  })

  it('in a terminal lets Ctrl-C reach the agent once', async () => {
    const at = bench()
    const run = at.start(['gather'], { through: inTerminal, stdin: 'pipe' })
    await run.seen()
    run.child.stdin?.write('\u0003')
    await eventually(
      async () => (await run.seen()).signals,
      (signals) => signals.length > 0,
    )
    for (const pid of at.launchers()) process.kill(pid, 'SIGTERM')
    expect(await run.end()).toBe(42)
    expect((await run.seen()).signals).toEqual(['SIGINT', 'SIGTERM'])
    expect(at.runs()).toEqual([])
  })
})

const statMode = (path: string): string => (lstatSync(path).mode & 0o777).toString(8)
