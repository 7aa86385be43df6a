import { beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { claudeCode } from './clis/claude-code.ts'
import { geminiCli } from './clis/gemini-cli.ts'
import { type HookedCli, type HookedOutcome, runHooked } from './hooked-agent.ts'
import { findInstalled } from './installed-agent.ts'

const HOOKED: readonly HookedCli[] = [
  {
    cli: claudeCode,
    word: 'claude',
    unasked: ['--allowedTools', 'mcp__gw,mcp__notes,Agent'],
    toolName: (server, tool) => `mcp__${server}__${tool}`,
    delegation: (prompt) => ['Agent', { subagent_type: 'mcp-executor', description: 'Run it', prompt, run_in_background: false }],
  },
  {
    cli: geminiCli,
    word: 'gemini',
    unasked: ['--yolo'],
    toolName: (server, tool) => `mcp_${server}_${tool}`,
    delegation: (prompt) => ['invoke_agent', { agent_name: 'mcp-executor', prompt }],
  },
]

const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = HOOKED.filter(({ cli }) => wanted.includes(cli.id)).map((hooked) => [hooked.cli.id, hooked] as const)

/** A script within a script, which only the sub-agent is to play. */
const nested = (text: string): string => text.replaceAll('[', '\\u005b').replaceAll('"', '\\u0022')

describe.each(clis)('%s with the hook', (id, hooked) => {
  const { toolName, delegation } = hooked
  let withGateway: HookedOutcome
  let alone: HookedOutcome
  let crashing: HookedOutcome

  beforeAll(async () => {
    const installed = findInstalled(id)
    if (!installed) throw new Error(`${id} is not installed.`)
    const create = `[[call !${toolName('notes', 'create_note')} {"title":"hooked","text":"the whole script"}]]`
    const read = `[[call !${toolName('notes', 'read_note')} {"id":"n1"}]]`
    const through = `[[call !${toolName('gw', 'notes_read_note')} {"id":"n1"}]]`
    withGateway = await runHooked(hooked, installed, { script: [create, read, through].join('\n'), gateway: 'has it' })
    const own = toolName(hooked.word === 'gemini' ? 'notes-isolated' : 'notes', 'read_note')
    const [tool, args] = delegation('TASK')
    const task = nested(`[[call !${own} {"id":"n1"}]]`)
    const delegate = `[[call !${tool} ${JSON.stringify(args).replace('TASK', () => task)}]]`
    alone = await runHooked(hooked, installed, { script: [create, read, delegate].join('\n'), gateway: 'has it not' })
    crashing = await runHooked(hooked, installed, {
      script: [create, read].join('\n'),
      command: 'exit 1',
      gateway: 'has it not',
    })
  }, 400_000)

  it(`${promise('ISO-18')} lets a tool pass that is not isolated`, () => {
    expect(withGateway.results[0]?.text, JSON.stringify(withGateway, undefined, 1)).toContain('n2')
  })

  it(`${promise('ISO-18')} denies an isolated one, and tells the model how to call it through the gateway`, () => {
    expect(withGateway.results[1]?.text).toContain(toolName('gw', 'notes_read_note'))
    expect(withGateway.results[1]?.text).not.toContain('created')
  })

  it(`${promise('ISO-18')} has its result through the gateway`, () => {
    expect(withGateway.results[2]?.text).toContain('created')
  })

  it(`${promise('ISO-18')} tells of the sub-agent where there is no gateway, and does not stop the sub-agent`, () => {
    expect(alone.results[1]?.text, JSON.stringify(alone, undefined, 1)).toContain('mcp-executor')
    expect(alone.results[2]?.text).toContain('created')
  })

  it(`${promise('ISO-19')} calls an isolated tool itself when its hook crashes`, () => {
    expect(crashing.results[1]?.text, JSON.stringify(crashing, undefined, 1)).toContain('created')
  })
})
