import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from '../harness/run-command.ts'
import { MAIN, makePlace, readRecords } from '../harness/run-gateway.ts'
import type { AgentCli } from './agent-cli.ts'
import { makeAgentPlace } from './agent-place.ts'
import { runAgent } from './agent-run.ts'
import type { InstalledAgent } from './installed-agent.ts'
import type { ToolResult } from './scripted-answer.ts'
import { type ModelRequest, openScriptedModel } from './scripted-model.ts'
import { endSurvivors } from './survivors.ts'

/** What an agent is to do, and with which gateway. */
export interface Play {
  /** One for each turn of the model, as in script.ts. */
  readonly script: readonly string[]
  /** The home's config.yaml, given where the scripted model listens. */
  readonly config: (model: string) => object | string
  /** The entries of tools.yaml, or the whole file. */
  readonly tools?: object | string
}

export interface PlayedAgent {
  readonly outcome: Outcome
  /** Also those of a sub-agent, where the gateway's model is the same. */
  readonly requests: readonly ModelRequest[]
  readonly records: readonly Record<string, any>[]
  /** What the agent's model read, in order. */
  readonly results: readonly ToolResult[]
}

/** Starts an agent by `sallyport run` with a home of its own, and lets the script play. */
export async function playAgent(cli: AgentCli, { bin }: InstalledAgent, play: Play): Promise<PlayedAgent> {
  const model = await openScriptedModel()
  const gateway = makePlace()
  gateway.writeConfig(play.config(model.url))
  const { tools } = play
  if (tools)
    writeFileSync(join(gateway.home, 'tools.yaml'), typeof tools === 'string' ? tools : JSON.stringify({ tools }))
  const place = makeAgentPlace(cli, { model: model.url, servers: {} })
  const run = [process.execPath, MAIN, 'run', cli.id, '--home', gateway.home, '--state', gateway.state]
  const command = [...run, '--', ...cli.headless(play.script.join('\n'))]
  try {
    const outcome = await runAgent({ command, place, bin, environment: cli.environment(model.url) })
    await endSurvivors(place)
    const records = existsSync(join(gateway.state, 'logs')) ? readRecords(gateway.state) : []
    return { outcome, requests: model.requests, records, results: mostResults(model.requests) }
  } finally {
    await model.close()
    place.remove()
    gateway.remove()
  }
}

const mostResults = (requests: readonly ModelRequest[]): readonly ToolResult[] =>
  requests.reduce<readonly ToolResult[]>((most, { results }) => (results.length > most.length ? results : most), [])
