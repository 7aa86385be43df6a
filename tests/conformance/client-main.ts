/**
 * The client that the suite starts for a scenario, with the address of its own server as the last argument.
 *
 *   --era <legacy|modern>   what it speaks
 *   --through               puts a gateway between itself and that server
 */
import { parseArgs } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Context, scenarioOf } from './client-scenarios.ts'
import { runGatewayFor } from './gateway-process.ts'

/** Shorter than the timeout of the suite: otherwise nobody would stop the gateway. */
const TIMEOUT_MS = 15_000

const { values, positionals } = parseArgs({
  options: { era: { type: 'string' }, through: { type: 'boolean' } },
  allowPositionals: true,
})
const [url = ''] = positionals
const { MCP_CONFORMANCE_SCENARIO = '', MCP_CONFORMANCE_CONTEXT = '{}' } = process.env
const scenario = scenarioOf(MCP_CONFORMANCE_SCENARIO)

if (values.through) {
  const gateway = await runGatewayFor({ url })
  const late = setTimeout(() => void gateway.stop(), TIMEOUT_MS)
  try {
    await drive(gateway.mcp)
  } finally {
    clearTimeout(late)
    await gateway.stop()
  }
} else await drive(url)

async function drive(address: string): Promise<void> {
  const mode = values.era === 'modern' ? ({ pin: '2026-07-28' } as const) : 'legacy'
  const { capabilities = {} } = scenario
  const client = new Client(
    { name: 'conformance-client', version: '1.0.0' },
    { capabilities, versionNegotiation: { mode } },
  )
  if (capabilities.elicitation)
    client.setRequestHandler('elicitation/create', ({ params }) => ({ action: 'accept', content: defaultsOf(params) }))
  await client.connect(new StreamableHTTPClientTransport(new URL(address)))
  try {
    await scenario.drive(client, JSON.parse(MCP_CONFORMANCE_CONTEXT) as Context)
  } finally {
    await client.close()
  }
}

/** What a person sends who accepts a form as it is shown. */
function defaultsOf(params: object): Record<string, string | number | boolean> {
  const { requestedSchema = {} } = params as { requestedSchema?: { properties?: Record<string, { default?: any }> } }
  const fields = Object.entries(requestedSchema.properties ?? {})
  return Object.fromEntries(fields.flatMap(([name, field]) => ('default' in field ? [[name, field.default]] : [])))
}
