import { describe, expect, it } from 'vitest'
import { configJsonSchema } from './json-schema.ts'

describe('the JSON Schema of config.yaml', () => {
  it('is a schema that offers every key in both spellings, as it is written', async () => {
    const schema = await configJsonSchema()
    expect(schema).toMatchObject({
      $schema: expect.stringContaining('draft-07'),
      type: 'object',
      properties: {
        gateway: { properties: { allow_remote: {}, allowRemote: {}, port: {} } },
        mcp_servers: { additionalProperties: { properties: { include_tools: { type: 'array' }, isolatedTools: {} } } },
        mcpServers: {},
        governance: {},
      },
    })
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
  })
})
