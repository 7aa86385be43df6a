import { describe, expect, it } from 'vitest'
import { buildJsonSchema } from './reading/config-schema.ts'

describe('the JSON Schema of config.yaml', () => {
  it('is a schema that offers every key in both spellings, as it is written', () => {
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

  /** Editors read the file. `vitest run -u` on this test writes it anew after a change of the schema. */
  it('is what config.schema.json of the package holds', async () => {
    await expect(`${JSON.stringify(buildJsonSchema(), undefined, 2)}\n`).toMatchFileSnapshot('../../config.schema.json')
  })
})
