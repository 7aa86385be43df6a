import { describe, expect, it } from 'vitest'
import { buildJsonSchema } from './reading/config-schema.ts'

describe('the JSON Schema of config.yaml', () => {
  it('offers every key in both spellings, with values as they are written', () => {
    const schema = buildJsonSchema()
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

  /** Editors read the file. After a change of the schema, `vitest run --update=all` with this file writes it again. */
  it('is the content of config.schema.json', async () => {
    await expect(`${JSON.stringify(buildJsonSchema(), undefined, 2)}\n`).toMatchFileSnapshot('../../config.schema.json')
  })
})
