import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from '../harness/run-command.ts'
import { MAIN, makePlace, REPOSITORY, readRecords } from '../harness/run-gateway.ts'
import type { AgentCli, LocalServer } from './agent-cli.ts'
import { type AgentPlace, type Decoy, makeAgentPlace, makeDecoy, newRoot } from './agent-place.ts'
import { runAgent } from './agent-run.ts'
import type { InstalledAgent } from './installed-agent.ts'
import { type ModelRequest, openScriptedModel } from './scripted-model.ts'
import { endSurvivors } from './survivors.ts'

/** A place from which an agent takes servers, and how a server is put there. */
export interface Plant {
  /** As in the agent's list of sources. */
  readonly source: string
  /** Distinguishes plants of one source. */
  readonly place?: string
  /** In the user's own file, as the agent's users write it. */
  readonly own?: boolean
  home?(server: LocalServer, root: string): Readonly<Record<string, string>>
  work?(server: LocalServer): Readonly<Record<string, string>>
  environment?(root: string): Readonly<Record<string, string>>
  /** Its arguments, if they differ from those of other runs without a person. */
  args?(prompt: string, planted: { readonly root: string; readonly server: LocalServer }): readonly string[]
  /** What the model does, if that is needed to start the server. */
  readonly script?: string
  /** An earlier run that leaves something behind; by default by the agent alone. */
  earlier?(prompt: string): readonly string[]
  readonly earlierStart?: Start
  /** What `run` says when it refuses; without it, `run` starts the agent and keeps the server away. */
  readonly refusal?: RegExp
}

export interface PlantedRun {
  readonly outcome: Outcome
  /** The planted server was contacted. */
  readonly started: boolean
  readonly requests: readonly ModelRequest[]
  readonly records: readonly Record<string, any>[]
}

export type Start = 'alone' | 'run' | 'run, other servers allowed'

export interface PlantedStart {
  readonly installed: InstalledAgent
  readonly plant: Plant
  readonly start: Start
}

const SERVERS = join(REPOSITORY, 'packages/gateway/demo/servers')
const NOTHING_TO_DO = '[[say that is all]]'

/** Starts an agent with a server planted, by itself or by `sallyport run`. */
export async function startPlanted(cli: AgentCli, { installed, plant, start }: PlantedStart): Promise<PlantedRun> {
  const root = newRoot()
  const model = await openScriptedModel()
  const gateway = makePlace()
  gateway.writeConfig({ mcp_servers: { notes: { command: 'node', args: ['notes.mjs'], cwd: SERVERS } } })
  const decoy = makeDecoy(root, 'planted')
  const place = makeAgentPlace(cli, { model: model.url, servers: plant.own ? { planted: decoy.server } : {} }, root)
  const environment = { ...cli.environment(model.url), ...plant.environment?.(root) }
  put(place, plant, decoy)
  const run = (command: readonly string[]): Promise<Outcome> =>
    runAgent({ command, place, bin: installed.bin, environment })
  const target = ['--home', gateway.home, '--state', gateway.state, '--']
  const commands: Readonly<Record<Start, readonly string[]>> = {
    alone: [installed.program],
    run: [process.execPath, MAIN, 'run', cli.id, ...target],
    'run, other servers allowed': [process.execPath, MAIN, 'run', cli.id, '--allow-other-servers', ...target],
  }
  try {
    if (plant.earlier) await run([...commands[plant.earlierStart ?? 'alone'], ...plant.earlier(NOTHING_TO_DO)])
    decoy.forget()
    const asked = model.requests.length
    const script = plant.script ?? NOTHING_TO_DO
    const args = plant.args?.(script, { root, server: decoy.server }) ?? cli.headless(script)
    const outcome = await run([...commands[start], ...args])
    await endSurvivors(place)
    const records = existsSync(join(gateway.state, 'logs')) ? readRecords(gateway.state) : []
    return { outcome, started: decoy.wasUsed(), requests: model.requests.slice(asked), records }
  } finally {
    await model.close()
    place.remove()
    gateway.remove()
  }
}

function put(place: AgentPlace, plant: Plant, { server }: Decoy): void {
  place.addToHome(plant.home?.(server, place.root) ?? {})
  place.addToProject(plant.work?.(server) ?? {})
}
