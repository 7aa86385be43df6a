import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashedNames } from '@sallyport/core'
import { eventually } from '../harness/processes.ts'
import type { Outcome } from '../harness/run-command.ts'
import { MAIN, makePlace, type Place, REPOSITORY, readRecords } from '../harness/run-gateway.ts'
import type { AgentCli } from './agent-cli.ts'
import { type AgentPlace, type FileState, fixture, makeAgentPlace, makeDecoy, newRoot } from './agent-place.ts'
import { runAgent } from './agent-run.ts'
import type { InstalledAgent } from './installed-agent.ts'
import { type ModelRequest, openScriptedModel } from './scripted-model.ts'
import { endSurvivors } from './survivors.ts'

/** The outcome of one run of an agent. */
export interface DrivenAgent {
  readonly outcome: Outcome
  readonly requests: readonly ModelRequest[]
  readonly records: readonly Record<string, any>[]
  /** The file with the user's own servers. */
  readonly ownFile: { readonly before: FileState; readonly after: FileState }
  /** The servers of the user and of the project that were contacted. */
  readonly strangers: readonly string[]
  /** Command lines of processes that still have its home in their environment after the time to end. */
  readonly survivors: readonly string[]
}

/** No agent would show a model this name. */
const ODD_TOOL = { server: 'odd', tool: `Überlong.tool/with ${'many '.repeat(20)}words` }
const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
/** The name that the gateway gives it: as long as its names can be. */
const ODD_NAME = hashedNames(ODD_TOOL, digest)[0] as string

/** What the profile selects; the second one is removed in the middle of the run. */
export const SELECTED = ['notes_create_note', 'notes_list_notes', ODD_NAME] as const
export const UNSELECTED = ['notes_delete_note', 'notes_read_note', 'notes_search_notes', 'sallyport_read_file'] as const
/** Of the servers that the agent is not to have. */
export const STRANGERS = ['decoy', 'neighbour'] as const
export const DECOY_TOOLS = ['mirror', 'hang'] as const

const SERVERS = join(REPOSITORY, 'packages/gateway/demo/servers')

/** Each line is a turn of the model. The last two name tools that the agent may no longer, or never, have offered. */
const scriptFor = ({ toolName }: AgentCli): string =>
  [
    `[[call ${SELECTED[0]} {"title":"driven","text":"by a script"}]]`,
    `[[call ${SELECTED[1]} {}]]`,
    `[[call ${SELECTED[2]} {}]]`,
    `[[call !${toolName(UNSELECTED[0])} {"id":"n1"}]]`,
    `[[call !${toolName(SELECTED[1])} {}]]`,
  ].join('\n')

/** How many results the model has seen when the second tool is removed. */
const RESULTS_BEFORE_CHANGE = 4

/** Starts an agent with the profile `reviewer` by `sallyport run`, runs the script, and checks what is left. */
export async function driveAgent(cli: AgentCli, { bin }: InstalledAgent): Promise<DrivenAgent> {
  const gateway = makeHome()
  select(gateway, cli, ['notes/create_note', 'notes/list_notes', 'odd'])
  const model = await openScriptedModel({
    before: async ({ results }) => {
      if (results.length === RESULTS_BEFORE_CHANGE) await narrow(gateway, cli)
    },
  })
  const { place, strangers } = settle(cli, model.url)
  const before = place.stateOf(cli.mcpFile)
  const run = [process.execPath, MAIN, 'run', cli.id, '--profile', 'reviewer', '--home', gateway.home]
  const command = [...run, '--state', gateway.state, '--', ...cli.headless(scriptFor(cli))]
  try {
    const outcome = await runAgent({ command, place, bin, environment: cli.environment(model.url) })
    return {
      outcome,
      requests: model.requests,
      survivors: await endSurvivors(place),
      records: existsSync(join(gateway.state, 'logs')) ? readRecords(gateway.state) : [],
      ownFile: { before, after: place.stateOf(cli.mcpFile) },
      strangers: strangers(),
    }
  } finally {
    await model.close()
    place.remove()
    gateway.remove()
  }
}

/** Starts it by itself in the same place: the servers that it then uses are those that `run` keeps from it. */
export async function strangersOfAlone(cli: AgentCli, { bin, program }: InstalledAgent): Promise<readonly string[]> {
  const model = await openScriptedModel()
  const { place, strangers } = settle(cli, model.url)
  try {
    const command = [program, ...cli.headless('[[say that is all]]')]
    await runAgent({ command, place, bin, environment: cli.environment(model.url) })
    await endSurvivors(place)
    return strangers()
  } finally {
    await model.close()
    place.remove()
  }
}

interface Settled {
  readonly place: AgentPlace
  strangers(): readonly string[]
}

/** A place in which the user and the project have servers of their own. */
function settle(cli: AgentCli, model: string): Settled {
  const root = newRoot()
  const decoy = makeDecoy(root, 'decoy')
  const neighbour = makeDecoy(root, 'neighbour')
  const place = makeAgentPlace(cli, { model, servers: { decoy: decoy.server } }, root)
  place.addToProject(cli.projectFile?.({ neighbour: neighbour.server }) ?? {})
  return { place, strangers: () => [decoy, neighbour].filter((one) => one.wasUsed()).map(({ name }) => name) }
}

function makeHome(): Place {
  const place = makePlace()
  const tools = join(place.home, 'odd.json')
  writeFileSync(tools, JSON.stringify([{ name: ODD_TOOL.tool, inputSchema: { type: 'object' } }]))
  place.writeConfig({
    mcp_servers: {
      notes: { command: 'node', args: ['notes.mjs'], cwd: SERVERS },
      odd: { command: 'node', args: [fixture('changing-server.mjs'), tools] },
    },
  })
  return place
}

/** The file has agents in capitals. */
function select({ home }: Place, { id }: AgentCli, selected: readonly string[]): void {
  const executors = { [id.toUpperCase().replaceAll('-', '_')]: { REVIEWER: { selected_mcp_tools: selected } } }
  writeFileSync(join(home, 'profiles.json'), JSON.stringify({ executors }))
}

async function narrow(gateway: Place, cli: AgentCli): Promise<void> {
  select(gateway, cli, ['notes/create_note', 'odd'])
  await eventually(
    () => readRecords(gateway.state),
    (records) => records.some(({ type }) => type === 'PROFILES_CHANGED'),
  )
}
