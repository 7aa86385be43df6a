import { beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import type { AgentCli } from './agent-cli.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import {
  DECOY_TOOLS,
  type DrivenAgent,
  driveAgent,
  SELECTED,
  STRANGERS,
  strangersOfAlone,
  UNSELECTED,
} from './driven-agent.ts'
import { findInstalled } from './installed-agent.ts'
import { DONE, type ToolResult } from './scripted-answer.ts'

const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = AGENT_CLIS.filter(({ id }) => wanted.includes(id)).map((cli) => [cli.id, cli] as const)

const UNHEARD_OF = /not found|no such|unsupported|unavailable|unknown|not exist|not available|not advertised/i

/** The tools of servers that the model was offered or could find, as the gateway or the decoy calls them. */
function offeredTools({ toolName }: AgentCli, { requests }: DrivenAgent): readonly string[] {
  const offered = new Set(requests.flatMap(({ tools }) => tools))
  const found = requests.flatMap(({ searches }) => searches.map(({ text }) => text)).join('\n')
  const isOffered = (name: string): boolean => offered.has(name) || found.includes(name)
  return [
    ...[...SELECTED, ...UNSELECTED].filter((tool) => isOffered(toolName(tool))),
    ...STRANGERS.flatMap((server) => DECOY_TOOLS.map((tool) => toolName(tool).replace('gw', server)).filter(isOffered)),
  ]
}

/** Nothing secret is in it; the bodies would fill screens. */
const storyOf = ({ outcome, requests }: DrivenAgent): string =>
  JSON.stringify({ outcome, requests: requests.map(({ body: _body, ...rest }) => rest) }, undefined, 1)

describe.each(clis)('%s', (id, cli) => {
  let driven: DrivenAgent
  let alone: readonly string[]
  let results: readonly ToolResult[]
  const recordsOf = (tool: string) =>
    driven.records.filter(({ tool_name: name }) => name === `mcp__${tool.replace('_', '__')}`)
  const typesOf = (tool: string) => recordsOf(tool).map(({ type }) => type)

  beforeAll(async () => {
    const installed = findInstalled(id)
    if (!installed) throw new Error(`${id} is not installed.`)
    driven = await driveAgent(cli, installed)
    alone = await strangersOfAlone(cli, installed)
    results = driven.requests.reduce<readonly ToolResult[]>(
      (most, request) => (request.results.length > most.length ? request.results : most),
      [],
    )
  })

  it(`${promise('AG-14')} runs the whole script and succeeds`, () => {
    // What the model said last, since Gemini CLI at times loses it on the way to its output.
    const answers = driven.requests.map(({ answer }) => ('text' in answer ? answer.text : ''))
    expect(answers, storyOf(driven)).toContainEqual(expect.stringContaining(DONE))
    expect(driven.outcome.code).toBe(0)
  })

  it(`${promise('AG-11')} is offered the tools that its profile selects, and no others`, () => {
    expect(offeredTools(cli, driven)).toEqual(SELECTED)
    const [, ...neverNamed] = UNSELECTED
    const bodies = driven.requests.map(({ body }) => body).join('\n')
    expect(neverNamed.filter((tool) => bodies.includes(cli.toolName(tool)))).toEqual([])
  })

  it(`${promise('AG-11')} calls them through the gateway, and the model reads the results`, () => {
    expect(typesOf(SELECTED[0])).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    expect(recordsOf(SELECTED[0])[0]).toMatchObject({ agent: id, profile: 'reviewer' })
    expect(results[0]?.text).toContain('n2')
    expect(results[1]?.text).toContain('driven')
  })

  it(`${promise('AG-20')} calls a tool by the longest name of the gateway, given to a name that no agent could show`, () => {
    expect(results[2]?.text).toContain('called Überlong.tool/with many')
  })

  it(`${promise('AG-11')} cannot call a tool that its profile does not select`, () => {
    // No agent knows it, so the call fails in the agent itself.
    expect(typesOf(UNSELECTED[0])).toEqual([])
    expect(results[3]?.text).toMatch(UNHEARD_OF)
  })

  it(`${promise('AG-12')} can no longer call a tool that was removed from its profile`, () => {
    const [started, completed, denied, ...rest] = typesOf(SELECTED[1])
    expect([started, completed, rest]).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED', []])
    // An agent that has read the new list already does not even call it.
    if (denied === undefined) expect(results[4]?.text).toMatch(UNHEARD_OF)
    else expect(results[4]?.text).toContain(`The profile ${id}.reviewer (profiles.json:1) does not select the tool`)
  })

  it(`${promise('AG-14')} starts neither the user's own servers nor those of the project`, () => {
    expect(alone).toEqual(cli.projectFile ? STRANGERS : STRANGERS.slice(0, 1))
    expect(driven.strangers).toEqual([])
  })

  it(`${promise('AG-14')} leaves the file with the user's own servers as it was`, () => {
    const { before, after } = driven.ownFile
    if (cli.rewritesFile) expect(JSON.parse(after.text).mcpServers).toEqual(JSON.parse(before.text).mcpServers)
    else expect(after).toEqual(before)
  })

  it(`${promise('AG-15')} leaves no process behind`, () => {
    expect(driven.survivors).toEqual([])
  })
})
