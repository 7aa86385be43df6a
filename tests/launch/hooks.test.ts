import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { textOf } from '../harness/repository.ts'
import type { Outcome } from '../harness/run-command.ts'
import { MAIN, makePlace, REPOSITORY, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const FIXTURES = join(REPOSITORY, 'tests/fixtures/hooks')
const GATEWAY = { command: 'npx', args: ['-y', 'sallyport', 'serve', '--stdio'] }

type Json = Record<string, any>
type Word = 'claude' | 'gemini'

interface Bench {
  readonly user: string
  readonly home: string
  readonly work: string
  write(path: string, content: object | string): void
}

/** A user's folder, a home of ours and a project, all empty. */
function makeBench(): Bench {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-hook-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const folder of ['user/.gemini', 'home', 'work/.gemini']) mkdirSync(join(root, folder), { recursive: true })
  return {
    user: join(root, 'user'),
    home: join(root, 'home'),
    work: join(root, 'work'),
    write: (path, content) =>
      writeFileSync(join(root, path), typeof content === 'string' ? content : JSON.stringify(content)),
  }
}

async function runHook(args: readonly string[], { user, home, work }: Bench, input: string | Buffer): Promise<Outcome> {
  const environment = { PATH: process.env.PATH ?? '', HOME: user, ...(home !== '' && { SALLYPORT_HOME: home }) }
  const child = spawn(process.execPath, [MAIN, 'hook', ...args], { cwd: work, env: environment })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, ...output }
}

const callOf = (word: Word, server: string, tool: string): Json =>
  word === 'gemini'
    ? {
        hook_event_name: 'BeforeTool',
        tool_name: `mcp_${server}_${tool}`,
        tool_input: { sql: 'select "a"' },
        mcp_context: { server_name: server, tool_name: tool },
      }
    : {
        hook_event_name: 'PreToolUse',
        tool_name: `mcp__${server}__${tool}`,
        tool_input: { sql: 'select "a"' },
        mcp_server: { name: server, source: 'user' },
      }

/** Where each has its own servers. */
const SETTINGS = { gemini: 'user/.gemini/settings.json', claude: 'user/.claude.json' } as const
const PROJECT = { gemini: 'work/.gemini/settings.json', claude: 'work/.mcp.json' } as const

const reasonOf = (word: Word, { stdout }: Outcome): string | undefined => {
  const answer = JSON.parse(stdout)
  if (word === 'gemini') return answer.decision === 'deny' ? answer.reason : undefined
  const { hookEventName, permissionDecision, permissionDecisionReason } = answer.hookSpecificOutput ?? {}
  return hookEventName === 'PreToolUse' && permissionDecision === 'deny' ? permissionDecisionReason : undefined
}

/** The call that a reason tells the model to make. */
const callIn = (reason: string): Json => JSON.parse(reason.split('\n').find((line) => line.startsWith('{')) ?? '')

describe.each(['gemini', 'claude'] as const)('the hook of %s', (word) => {
  const ask = async (bench: Bench, call: Json): Promise<string | undefined> => {
    const outcome = await runHook([word], bench, JSON.stringify({ cwd: bench.work, ...call }))
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    const reason = reasonOf(word, outcome)
    if (reason === undefined) expect(JSON.parse(outcome.stdout)).toEqual({})
    return reason
  }

  it(`denies what the agent's own settings isolate, with the call through the gateway as JSON (${promise('ISO-18')})`, async () => {
    const bench = makeBench()
    bench.write(SETTINGS[word], { mcpServers: { database: { command: 'x', isolatedTools: ['query'] }, gw: GATEWAY } })
    bench.write('home/config.yaml', 'mcp_servers: {database: {command: x}}')
    const instead = word === 'gemini' ? 'mcp_gw_database_query' : 'mcp__gw__database_query'
    expect(callIn((await ask(bench, callOf(word, 'database', 'query'))) ?? '')).toEqual({
      tool: instead,
      arguments: { sql: 'select "a"' },
    })
    expect(await ask(bench, callOf(word, 'database', 'list'))).toBeUndefined()
    expect(await ask(bench, callOf(word, 'gw', 'database_query'))).toBeUndefined()
  })

  it(`names the sub-agent if the gateway does not have the server (${promise('ISO-18')})`, async () => {
    const bench = makeBench()
    bench.write(PROJECT[word], { mcpServers: { database: { command: 'x', isolated: true } } })
    const { tool, arguments: args } = callIn((await ask(bench, callOf(word, 'database', 'query'))) ?? '')
    expect(tool).toBe(word === 'gemini' ? 'invoke_agent' : 'Agent')
    expect(JSON.stringify(args)).toContain('"mcp-executor"')
    expect(JSON.parse(args.prompt)).toEqual({
      serverName: 'database',
      toolName: 'query',
      toolInput: { sql: 'select "a"' },
    })
  })

  it('follows our own config and tools.yaml, and what a project adds to them', async () => {
    const bench = makeBench()
    bench.write('home/config.yaml', 'mcp_servers: {database: {command: x, isolated: true}}')
    bench.write(
      'home/tools.yaml',
      'tools:\n  mcp__database__list: {isolated: false}\n  web/fetch: {isolated: {strategy: extract}}\n',
    )
    expect(await ask(bench, callOf(word, 'database', 'query'))).toContain('"query" of the server "database"')
    expect(await ask(bench, callOf(word, 'database', 'list'))).toBeUndefined()
    expect(await ask(bench, callOf(word, 'web', 'fetch'))).toContain('mcp-executor')
    expect(await ask(bench, callOf(word, 'web', 'search'))).toBeUndefined()
  })

  it('does not repeat an argument that is too long', async () => {
    const bench = makeBench()
    bench.write(SETTINGS[word], { mcpServers: { database: { command: 'x', isolated: true } } })
    const reason = await ask(bench, {
      ...callOf(word, 'database', 'query'),
      tool_input: { sql: 'x'.repeat(1_000_000) },
    })
    expect(reason?.length).toBeLessThan(2_000)
    expect(JSON.parse(callIn(reason ?? '').arguments.prompt)).toEqual({ serverName: 'database', toolName: 'query' })
  })

  it.each([
    ['nothing', ''],
    ['no JSON', '{"tool_name": '],
    ['bytes', Buffer.from([0xff, 0xfe, 0, 1, 2, 3])],
    ['a list', '[]'],
    ['null', 'null'],
    ['no name', '{"tool_input": {}}'],
    ['a name of another kind', '{"tool_name": {"a": 1}, "mcp_context": 5, "mcp_server": []}'],
    ['another event', '{"hook_event_name": "SessionStart", "tool_name": "x"}'],
    ['10 MB that are no JSON', `{${'a'.repeat(10_000_000)}`],
    ['deep nesting', `{"tool_input": ${'['.repeat(100_000)}`],
  ])(`continues with a warning when its input is %s (${promise('ISO-18')})`, async (_, input) => {
    const outcome = await runHook([word], makeBench(), input)
    expect(outcome).toMatchObject({ code: 0, stdout: '{}\n' })
    expect(outcome.stderr).toMatch(/^sallyport hook: the input is not what .+ writes \(.+\)\. The call continues\.\n$/)
  })

  it('continues with a warning if a file cannot be read', async () => {
    const bench = makeBench()
    bench.write(SETTINGS[word], '{"mcpServers": {')
    bench.write('home/config.yaml', 'isolated: [')
    mkdirSync(join(bench.home, 'tools.yaml'))
    const outcome = await runHook([word, '--bogus'], bench, JSON.stringify(callOf(word, 'database', 'query')))
    expect(outcome).toMatchObject({ code: 0, stdout: '{}\n' })
    expect(outcome.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('sallyport hook: '))).toEqual([])
    for (const named of ['--bogus', 'json', 'config.yaml', 'tools.yaml']) expect(outcome.stderr).toContain(named)
  })

  it('does not ask about calls of built-in tools', async () => {
    const bench = makeBench()
    bench.write(SETTINGS[word], '{"mcpServers": {')
    expect(await ask(bench, { tool_name: word === 'gemini' ? 'read_file' : 'Read', tool_input: {} })).toBeUndefined()
  })

  it(`prints what to paste, and writes nothing (${promise('AG-21')})`, async () => {
    const bench = makeBench()
    bench.write(SETTINGS[word], {
      mcpServers: { database: { command: 'x', env: { KEY: 'made up for the test' }, isolated: true } },
    })
    const before = readdirSync(bench.user, { recursive: true })
    const { code, stdout } = await runHook(['install', '--print', word, '--json'], bench, '')
    expect(code).toBe(0)
    const { hook, executor } = JSON.parse(stdout)
    const { matcher, hooks } = JSON.parse(hook.text).hooks[word === 'gemini' ? 'BeforeTool' : 'PreToolUse'][0]
    expect(hooks[0].command).toContain(`hook ${word} --home ${bench.home}`)
    expect(new RegExp(matcher).test(callOf(word, 'database', 'query').tool_name)).toBe(true)
    expect(executor.text).toMatch(/^---\nname: mcp-executor\n/)
    expect(stdout).not.toContain('made up')
    expect(readdirSync(bench.user, { recursive: true })).toEqual(before)
    expect(existsSync(hook.file) && word === 'claude').toBe(false)
    const refused = await runHook(['install', word], bench, '')
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--print') })
  })
})

describe('a project that came with a hostile home', () => {
  it('cannot disable the user’s own settings', async () => {
    const bench = makeBench()
    mkdirSync(join(bench.user, '.config/sallyport'), { recursive: true })
    mkdirSync(join(bench.work, '.sallyport'))
    bench.write('user/.config/sallyport/config.yaml', 'mcp_servers: {database: {command: x, isolated: true}}')
    bench.write('work/.sallyport/config.yaml', 'mcp_servers: {database: {command: x, isolated: false}}')
    bench.write('work/.sallyport/tools.yaml', 'tools: {"*": {isolated: false}}')
    const call = JSON.stringify(callOf('gemini', 'database', 'query'))
    const outcome = await runHook(['gemini'], { ...bench, home: '' }, call)
    expect(reasonOf('gemini', outcome)).toContain('isolated')
  })
})

describe('the hook with --govern', () => {
  const bash = JSON.stringify({ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'rm -rf x' } })

  it(`asks the running gateway about tools that the agent has built in, and refusals are recorded (${promise('ISO-18')})`, async () => {
    const bench = makeBench()
    const place = makePlace({ governance: { enforce: true } })
    writeFileSync(
      join(place.home, 'tools.yaml'),
      'tools:\n  claude-code/Bash: {hidden: true}\n  claude-code/Write: {requires_approval: true, allowed_in_modes: [NORMAL]}\n  claude-code/Read: {risk_level: low, requires_approval: false, allowed_in_modes: [NORMAL]}\n',
    )
    const gateway = await runGateway({ place })
    onTestFinished(() => gateway.stop())
    const flags = ['claude', '--govern', '--state', place.state]
    const decisionOf = async (call: string): Promise<string> => {
      const { code, stdout, stderr } = await runHook(flags, bench, call)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      return JSON.parse(stdout).hookSpecificOutput?.permissionDecision ?? 'left to the agent'
    }
    expect(await decisionOf(bash)).toBe('deny')
    expect(await decisionOf(bash.replace('Bash', 'Write'))).toBe('ask')
    expect(await decisionOf(bash.replace('Bash', 'Read'))).toBe('left to the agent')
    const denied = gateway.records().filter(({ type }) => type === 'POLICY_DENIED')
    expect(denied).toMatchObject([{ agent: 'claude-code', tool_name: 'mcp__claude-code__Bash', is_mcp: false }])
  })

  it('continues with a warning if no gateway runs; with --strict it denies', async () => {
    const bench = makeBench()
    const flags = ['claude', '--govern', '--state', join(bench.work, 'state')]
    const open = await runHook(flags, bench, bash)
    expect(open).toMatchObject({ code: 0, stdout: '{}\n' })
    expect(open.stderr).toMatch(/^sallyport hook: the gateway gave no verdict .* The call continues\.\n$/)
    const closed = await runHook([...flags, '--strict'], bench, bash)
    expect(reasonOf('claude', closed)).toContain('--strict')
    expect(closed.code).toBe(0)
  })
})

describe('what the real agents write to their hooks', () => {
  const recorded = (id: string): readonly Json[] => {
    const file = readdirSync(FIXTURES).find((name) => name.startsWith(id)) ?? ''
    return readFileSync(join(FIXTURES, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  it.each([
    ['claude-code', 'claude'],
    ['gemini-cli', 'gemini'],
  ] as const)(
    `of %s is understood: only the isolated call of the conversation is denied (${promise('ISO-18')})`,
    async (id, word) => {
      const bench = makeBench()
      bench.write(SETTINGS[word], {
        mcpServers: { notes: { command: 'x', isolatedTools: ['read_note'] } },
      })
      const denied: string[] = []
      for (const message of recorded(id)) {
        const outcome = await runHook([word], bench, JSON.stringify(message))
        expect(outcome).toMatchObject({ code: 0, stderr: '' })
        if (reasonOf(word, outcome) !== undefined)
          denied.push(`${message.tool_name} ${message.agent_type ?? ''}`.trim())
      }
      expect(recorded(id).length).toBeGreaterThan(2)
      expect(denied).toEqual([word === 'gemini' ? 'mcp_notes_read_note' : 'mcp__notes__read_note'])
    },
  )
})

describe('docs/hooks.md', () => {
  const page = textOf('docs/hooks.md').replaceAll(/\s+/g, ' ')

  it(`says what the hook cannot do, and that the gateway can (${promise('ISO-19')})`, () => {
    for (const words of ['fails open', 'the model has to follow', 'automatic and enforced'])
      expect(page).toContain(words)
  })
})
