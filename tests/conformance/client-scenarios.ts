import type { Client, ClientCapabilities } from '@modelcontextprotocol/client'
import type { Revision } from './suite.ts'

type Drive = (client: Client, context: Context) => Promise<unknown>

/** What a scenario wants to be done, where its description is not enough. */
export interface Context {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[]
}

interface Scenario {
  readonly revisions: readonly Revision[]
  readonly drive: Drive
  /** A client that says it can be asked. */
  readonly capabilities?: ClientCapabilities
}

const LEGACY = ['2025-11-25'] as const
const MODERN = ['2026-07-28'] as const

/** What a client does in each scenario that is not about authorization. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  initialize: { revisions: LEGACY, drive: (client) => client.listTools() },
  tools_call: { revisions: [...LEGACY, ...MODERN], drive: callNumbers },
  'elicitation-sep1034-client-defaults': { revisions: LEGACY, drive: callAll, capabilities: { elicitation: {} } },
  'sse-retry': { revisions: LEGACY, drive: callAll },
  'request-metadata': { revisions: MODERN, drive: (client) => client.listTools() },
  'sep-2322-client-request-state': { revisions: MODERN, drive: callAll, capabilities: { elicitation: {} } },
  'http-standard-headers': { revisions: MODERN, drive: useEverything },
  'http-custom-headers': { revisions: MODERN, drive: callAsTold },
  'http-invalid-tool-headers': { revisions: MODERN, drive: callAll },
  'json-schema-ref-no-deref': { revisions: MODERN, drive: (client) => client.listTools() },
  'json-schema-2020-12-preservation': { revisions: [...LEGACY, ...MODERN], drive: echoSchema },
}

export function clientScenarios(revision: Revision): readonly string[] {
  return Object.keys(SCENARIOS).filter((name) => SCENARIOS[name]?.revisions.includes(revision))
}

export function scenarioOf(name: string): Scenario {
  const scenario = SCENARIOS[name]
  if (!scenario) throw new Error(`There is no client for the scenario ${name}`)
  return scenario
}

async function callNumbers(client: Client): Promise<void> {
  await client.listTools()
  await client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } })
}

async function callAll(client: Client): Promise<void> {
  const { tools } = await client.listTools()
  for (const { name, inputSchema } of tools) {
    const required = inputSchema.required ?? []
    const args = Object.fromEntries(required.map((field) => [field, 'any']))
    // A call that is refused must not keep the others from being made.
    await client.callTool({ name, arguments: args }).catch(() => {})
  }
}

async function callAsTold(client: Client, { toolCalls = [] }: Context): Promise<void> {
  await client.listTools()
  for (const call of toolCalls) await client.callTool(call)
}

async function useEverything(client: Client): Promise<void> {
  await callAll(client)
  const { resources } = await client.listResources()
  for (const { uri } of resources) await client.readResource({ uri })
  const { prompts } = await client.listPrompts()
  for (const { name } of prompts) await client.getPrompt({ name })
}

async function echoSchema(client: Client): Promise<void> {
  const { tools } = await client.listTools()
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
  await client.callTool({ name: 'json_schema_echo', arguments: { schema } })
}
