import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openScriptedModel, type ScriptedModel, type ScriptedModelOptions } from '../agents/scripted-model.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'

export type Message = Record<string, any>

/** A gateway before the server `db`, whose tools return as much as they are asked for. */
export interface FloodBench {
  readonly gateway: RunningGateway
  readonly client: LegacyClient
  /** What reached the server. */
  calls(): readonly Message[]
}

export interface FloodOptions {
  /** Of the server's entry. */
  readonly entry?: object
  readonly config?: object
  readonly tools?: object
  /** The section of the configuration; `auto`: none, so that programs get everything whole. */
  readonly context?: object | 'auto'
  /** Of the command. */
  readonly args?: readonly string[]
}

export async function openFlood(options: FloodOptions = {}): Promise<FloodBench> {
  const { entry = {}, config = {}, tools, args = ['--no-auth'], context = { cap: 8_000 } } = options
  const place = makePlace()
  const file = join(place.home, 'calls')
  const flood = { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/flood-server.mjs'), file], ...entry }
  const capped = context === 'auto' ? {} : { context }
  place.writeConfig({ ...capped, mcp_servers: { db: flood }, ...config })
  if (tools) writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  const gateway = await runGateway({ place, args })
  onTestFinished(() => gateway.stop())
  const bearer = { authorization: `Bearer ${gateway.token('operator')}` }
  const client = await LegacyClient.open(gateway.mcp, bearer)
  return { gateway, client, calls: () => linesOf(file) }
}

const linesOf = (file: string): readonly Message[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Message)
    : []

/** The same with every tool isolated by a strategy that asks the scripted model. */
export async function openIsolatedFlood(
  strategy: string | undefined,
  more: object = {},
  { before, config, ...options }: FloodOptions & ScriptedModelOptions = {},
): Promise<FloodBench & { readonly model: ScriptedModel }> {
  const model = await openScriptedModel(before ? { before } : {})
  onTestFinished(() => model.close())
  const isolation = { ...(strategy && { strategy }), model: reachOf(model), ...more }
  return { ...(await openFlood({ entry: { isolated: true }, ...options, config: { isolation, ...config } })), model }
}

const reachOf = ({ url }: ScriptedModel): object => ({
  provider: 'openai-compatible',
  name: 'scripted',
  base_url: `${url}/v1`,
  api_key: 'made-for-this-test',
})

export const textOf = (result: Message): string => result.content[0].text
export const handleIn = (result: Message): string => /r_[a-z2-7]{20}/.exec(JSON.stringify(result))?.[0] ?? 'no handle'
