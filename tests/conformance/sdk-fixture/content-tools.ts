import { type CallToolResult, fromJsonSchema, type McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PIXEL, SILENCE } from '../fixture/media.ts'

export const NO_ARGUMENTS = z.object({})

export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] }
}

/** Tools that return one kind of content each, and those whose schemas matter. */
export function addContentTools(mcp: McpServer): void {
  const add = (name: string, result: () => CallToolResult): void =>
    void mcp.registerTool(name, { description: `Returns what ${name} names` }, result)
  add('test_simple_text', () => text('This is a simple text response for testing.'))
  add('test_image_content', () => ({ content: [PIXEL] }))
  add('test_audio_content', () => ({ content: [SILENCE] }))
  add('test_embedded_resource', () => ({
    content: [embed('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }))
  add('test_multiple_content_types', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      PIXEL,
      embed('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }))
  add('test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  addSchemaTools(mcp)
}

/** Their schemas are written by hand: made with zod, they would lose keywords. */
function addSchemaTools(mcp: McpServer): void {
  const region = { type: 'string', 'x-mcp-header': 'Region' } as const
  mcp.registerTool(
    'test_param_headers',
    {
      description: 'Wants its region repeated in a header',
      inputSchema: fromJsonSchema<{ region: string }>({ type: 'object', properties: { region }, required: ['region'] }),
    },
    (args) => text(`Region: ${args.region}`),
  )
  mcp.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: fromJsonSchema(CONTACT) },
    (args) => text(JSON.stringify(args)),
  )
}

const CONTACT = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
} as const

function embed(uri: string, mimeType: string, words: string): CallToolResult['content'][number] {
  return { type: 'resource', resource: { uri, mimeType, text: words } }
}
