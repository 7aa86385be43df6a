import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { runCommand } from '../harness/run-command.ts'
import { endProcess, MAIN, makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const SERVERS = join(REPOSITORY, 'packages/gateway/demo/servers')

/** Every entry is against what its tool is asked below, each in another way. */
const toolsYaml = (more = ''): string => `
tools:
  mcp__notes__create_note: { requires_approval: true${more} }
  mcp__notes__list_notes: { allowed_in_modes: [], permission: [READ]${more} }
  mcp__notes__search_notes: { arguments: { words: { enum: [nothing] } }${more} }
  mcp__notes__read_note: { pin: sha256-other${more} }
  mcp__notes__delete_note: { arguments: { deny_patterns: ["n1"] }, requires_approval: false${more} }
`
const CALLS: readonly (readonly [tool: string, args: object])[] = [
  ['create_note', { title: 'a', text: 'b' }],
  ['list_notes', {}],
  ['search_notes', { words: 'b' }],
  ['read_note', { id: 'n1' }],
  ['delete_note', { id: 'n1' }],
]

async function gateway(enforce: boolean, tools: string): Promise<RunningGateway> {
  const place = makePlace({
    governance: { enforce, approval_timeout: '1s' },
    mcp_servers: { notes: { command: 'node', args: ['notes.mjs'], cwd: SERVERS } },
  })
  writeFileSync(join(place.home, 'tools.yaml'), tools)
  const running = await runGateway({ place })
  onTestFinished(() => running.stop())
  return running
}

async function call({ mcp }: RunningGateway, tool: string, args: object): Promise<string> {
  const { message } = await modernRequest(mcp, 'tools/call', { name: `notes_${tool}`, arguments: args })
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}

async function callAll(running: RunningGateway): Promise<readonly string[]> {
  const answers: string[] = []
  for (const [tool, args] of CALLS) answers.push(await call(running, tool, args))
  return answers
}

const run = ({ home, state }: RunningGateway, ...args: readonly string[]) =>
  runCommand([...args, '--home', home, '--state', state])

const watchedIn = (running: RunningGateway): readonly string[] =>
  running.records().flatMap(({ type, tool_name, would }) => {
    if (type !== 'TOOL_CALL_STARTED') return []
    const { outcome, step } = (would ?? {}) as { outcome?: string; step?: string }
    return [`${String(tool_name).replace('mcp__notes__', '')} ${outcome} ${step}`]
  })

const WOULD = [
  'create_note ask approve',
  'list_notes deny mode',
  'search_notes deny arguments',
  'read_note deny pin',
  'delete_note deny arguments',
]

describe(`rules that are not enforced: ${promise('GOV-29')}`, () => {
  it('refuse nothing while governance.enforce is false, and every record says what they would have done', async () => {
    const running = await gateway(false, toolsYaml())
    for (const answer of await callAll(running)) expect(answer).not.toMatch(/[A-Z]+_[A-Z]+:/)
    expect(watchedIn(running)).toEqual(WOULD)
    expect(running.records().filter(({ type }) => type === 'POLICY_DENIED')).toEqual([])

    const denied = await run(running, 'audit', '--verdict', 'would-deny', '--json')
    expect(denied.stdout.trim().split('\n')).toHaveLength(4)
    const asked = await run(running, 'audit', '--verdict', 'would-ask')
    expect(asked.stdout).toMatch(/TOOL_CALL_STARTED .*mcp__notes__create_note .*would have asked: A person/)
    const [first] = denied.stdout.split('\n')
    const why = await run(running, 'explain', JSON.parse(first ?? '').call_id)
    expect(why.stdout).toMatch(/^Allowed: .* It would have been refused if its rules were enforced\.\n/)
    expect(why.stdout).toMatch(/tools\.yaml:4\n/)
  })

  it('can be those of single tools', async () => {
    const running = await gateway(
      true,
      toolsYaml(', enforce: false').replace(
        '["n1"] }, requires_approval: false, enforce: false',
        '["n1"] }, requires_approval: false',
      ),
    )
    const answers = await callAll(running)
    expect(answers.at(-1)).toContain('ARGUMENTS_FORBIDDEN')
    expect(watchedIn(running)).toEqual(WOULD.slice(0, -1))
  })

  it('are enforced in a lockdown', async () => {
    const running = await gateway(false, toolsYaml())
    await run(running, 'panic')
    for (const answer of await callAll(running)) expect(answer).toContain('MODE_FORBIDS')
    expect(watchedIn(running)).toEqual([])
  })

  it('are shown by audit --follow', async () => {
    const running = await gateway(false, toolsYaml())
    const args = ['audit', '--follow', '--verdict', 'would-deny', '--home', running.home, '--state', running.state]
    const child = spawn(process.execPath, [MAIN, ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => endProcess(child))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const [next] = [lines.next()]
    let received = false
    void next.then(() => {
      received = true
    })
    // There is no sign of when it has begun to follow.
    while (!received) {
      await call(running, 'create_note', { title: 'a', text: 'b' })
      await call(running, 'list_notes', {})
    }
    expect(JSON.parse((await next).value ?? '')).toMatchObject({ would: { outcome: 'deny', step: 'mode' } })
  })
})
