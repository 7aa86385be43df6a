import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { runCommand } from '../harness/run-command.ts'
import { StdioClient } from '../harness/stdio-client.ts'
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

describe(`${promise('AG-13')} with --native`, () => {
  const OWN = { docs: { command: 'node', args: ['docs.mjs'], env: { KEY: 'k' }, odd: 1 }, shell: { command: 'bash' } }

  it('an agent has its own servers as its profile selects them, unchanged, and needs no gateway', async () => {
    const at = bench()
    at.write('.claude.json', JSON.stringify({ mcpServers: OWN }))
    at.writeProfiles({ CLAUDE_CODE: { DEFAULT: { selected_mcp_tools: ['docs'] } } })
    const before = at.userFiles()
    const printed = at.start(['x'], { flags: ['--native', '--print', '--json'] })
    expect(await printed.end()).toBe(0)
    const { files } = JSON.parse(printed.stdout())
    expect(files['mcp.json'].mcpServers).toEqual({ docs: { ...OWN.docs, env: { KEY: '•••' } } })
    expect(at.processes()).toEqual([])
    expect(at.userFiles()).toEqual(before)
  })

  it('an agent without a selection has all of them, and its own approvals stay on', async () => {
    const at = bench()
    at.write('.claude.json', JSON.stringify({ mcpServers: OWN }))
    const printed = at.start(['-p', 'x'], { flags: ['--native', '--print', '--json'] })
    expect(await printed.end()).toBe(0)
    const { files, command } = JSON.parse(printed.stdout())
    expect(Object.keys(files['mcp.json'].mcpServers)).toEqual(['docs', 'shell', 'theirs'])
    expect(command.join(' ')).not.toContain('allowedTools')
  })

  it('an agent is started with them, and the exit code is its own', async () => {
    const at = bench()
    at.write('.claude.json', '{}')
    at.write('project/.mcp.json', '{}')
    const run = at.start(['exit=5'], { flags: ['--native'] })
    expect(await run.end()).toBe(5)
    expect((await run.seen()).servers).toEqual({})
    expect(at.runs()).toEqual([])
    expect(at.processes()).toEqual([])
  })
})

describe(`${promise('AG-17')} a run`, () => {
  it('keeps the key of the model from the gateway and from its servers, and not from the agent', async () => {
    const at = bench()
    const run = at.start(['wait'], { env: { ANTHROPIC_API_KEY: 'the-key-of-the-model', PLAIN: 'not-secret' } })
    expect((await run.seen()).environment.ANTHROPIC_API_KEY).toBe('the-key-of-the-model')
    const [gateway = 0] = at.gateways()
    const environment = readFileSync(`/proc/${gateway}/environ`, 'utf8')
    expect(environment).toContain('not-secret')
    expect(environment).not.toContain('the-key-of-the-model')
    run.child.kill('SIGTERM')
    await run.end()
  })

  it.each([
    ['without a person', ['-p', 'hello']],
    ['with a person', []],
  ])('%s leaves approval to the gateway, has long timeouts, and has the tools at once', async (_way, args) => {
    const printed = bench().start(args, { flags: ['--print', '--json'] })
    expect(await printed.end()).toBe(0)
    const { command, files } = JSON.parse(printed.stdout())
    expect(command).toContain('--allowedTools=mcp__gw')
    expect(files['mcp.json'].mcpServers.gw).toMatchObject({ alwaysLoad: true, timeout: 3_600_000 })
  })
})

describe(`${promise('AG-16')} an agent that cannot be limited to our server`, () => {
  it('that uses no MCP servers at all cannot be connected', async () => {
    const { home, state } = bench().place
    for (const command of ['run', 'connect']) {
      const { code, stderr } = await runCommand([command, 'aider', '--home', home, '--state', state])
      expect(code).toBe(2)
      expect(stderr).toContain('uses no MCP servers')
    }
  })

  it('that is not installed can be planned, but not be started', async () => {
    const { home, state } = bench().place
    const args = ['run', 'goose', '--home', home, '--state', state]
    const env = { PATH: '/nowhere' }
    expect(await runCommand([...args, '--print'], { env })).toMatchObject({ code: 0 })
    expect(await runCommand(args, { env })).toMatchObject({ code: 3 })
  })

  it('gets an entry to paste, whose token is in a variable and has the rights of the profile', async () => {
    const at = bench()
    const { home, state } = at.place
    at.writeProfiles({ CURSOR: { REVIEWER: { selected_mcp_tools: ['one/echo'] } } })
    const where = ['--home', home, '--state', state]
    const before = at.userFiles()
    const printed = await runCommand(['connect', 'cursor', '--profile', 'reviewer', ...where], {
      env: at.environment(),
    })
    expect(printed.code).toBe(0)
    expect(at.userFiles()).toEqual(before)
    const { gw } = JSON.parse(printed.stdout).mcpServers
    expect(gw.env).toEqual({ SALLYPORT_TOKEN_CURSOR_REVIEWER: `\${env:SALLYPORT_TOKEN_CURSOR_REVIEWER}` })
    const token = /SALLYPORT_TOKEN_CURSOR_REVIEWER=(spa_\S+)/.exec(printed.stderr)?.[1] ?? ''
    expect(printed.stdout).not.toContain(token)
    const env = { ...process.env, SALLYPORT_TOKEN_CURSOR_REVIEWER: token }
    const window = new StdioClient(spawn(gw.command, gw.args, { stdio: 'pipe', env }))
    undo.push(() => window.kill())
    await window.initialize()
    expect(await window.toolNames()).toEqual(['one_echo'])
    const [{ id = '' } = {}] = JSON.parse((await runCommand(['token', 'list', '--json', ...where])).stdout).tokens
    await runCommand(['token', 'revoke', id, ...where])
    await once(window.child, 'exit')
    expect(window.stderr).toContain('no longer valid')
  })
})

describe(`${promise('AG-16')} connect`, () => {
  interface Connected {
    readonly agent: string
    readonly entry: string
    readonly variable: string
    readonly token: string
    readonly token_way: string
  }

  const connect = async (at: LaunchBench, agent: string): Promise<Connected> => {
    const { home, state } = at.place
    const printed = await runCommand(['connect', agent, '--json', '--home', home, '--state', state], {
      env: at.environment(),
    })
    return JSON.parse(printed.stdout)
  }

  /** The command of an entry, in whatever the agent writes it. */
  const argsIn = ({ entry }: Connected): readonly string[] =>
    entry.startsWith('[') ? JSON.parse(/^args = (.*)$/m.exec(entry)?.[1] ?? '[]') : JSON.parse(entry).mcpServers.gw.args

  const open = (connected: Connected, env: NodeJS.ProcessEnv): StdioClient => {
    const window = new StdioClient(spawn(process.execPath, argsIn(connected), { stdio: 'pipe', env }))
    undo.push(() => window.kill())
    return window
  }

  it('gives each agent a variable of its own, so that one environment can have both tokens', async () => {
    const at = bench()
    at.writeProfiles({
      CODEX: { DEFAULT: { selected_mcp_tools: ['one/echo'] } },
      CLAUDE_CODE: { DEFAULT: { selected_mcp_tools: [] } },
    })
    const both = [await connect(at, 'codex'), await connect(at, 'claude-code')] as const
    expect(both.map(({ variable }) => variable)).toEqual(['SALLYPORT_TOKEN_CODEX', 'SALLYPORT_TOKEN_CLAUDE_CODE'])
    const env = { ...process.env, ...Object.fromEntries(both.map(({ variable, token }) => [variable, token])) }
    const [codex, claude] = both.map((one) => open(one, env))
    for (const window of [codex, claude]) await window?.initialize()
    expect(await codex?.toolNames()).toEqual(['one_echo'])
    expect(await claude?.toolNames()).toEqual([])
  })

  it.each([
    ['is not set', undefined],
    ['is empty', ''],
    ['contains', `\${SALLYPORT_TOKEN_CODEX}`],
  ])('opens a window that uses no other identity if the variable %s', async (problem, value) => {
    const at = bench()
    const connected = await connect(at, 'codex')
    const window = open(connected, { ...process.env, SALLYPORT_TOKEN: 'spa_other', SALLYPORT_TOKEN_CODEX: value })
    const [code] = await once(window.child, 'exit')
    expect(code).toBe(4)
    expect(window.stderr).toContain(`The variable SALLYPORT_TOKEN_CODEX ${problem}`)
  })

  it('writes the token into the entry of an agent that cannot read variables', async () => {
    const { entry, variable, token, token_way: way } = await connect(bench(), 'claude-desktop')
    expect(way).toBe('pasted')
    expect(JSON.parse(entry).mcpServers.gw.env).toEqual({ [variable]: token })
  })

  it('is what run shows for an agent that cannot be configured for one run, without a token', async () => {
    const at = bench()
    const { home, state } = at.place
    const where = ['--home', home, '--state', state]
    const shown = await runCommand(['run', 'cursor', ...where], { env: at.environment() })
    expect(shown.code).toBe(0)
    expect(JSON.parse(shown.stdout).mcpServers.gw.args).toContain('--token-from')
    expect(shown.stderr).toMatch(/nothing is started[\s\S]*sallyport connect cursor/)
    expect(shown.stdout + shown.stderr).not.toContain('spa_')
  })
})
