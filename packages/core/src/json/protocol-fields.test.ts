import { specTypeSchemas } from '@modelcontextprotocol/client'
import { PromptSchema, ResourceSchema, ResourceTemplateSchema, ToolSchema } from '@modelcontextprotocol/sdk/types.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Json, JsonObject } from './json-value.ts'
import { sanitizeEntry } from './protocol-fields.ts'

const anything = fc.constantFrom<Json>(
  ...[null, true, 0, 5, 0.5, '', 'x', '2025-01-12T15:00:58Z', 'dark', [], ['user', 3], [{ src: 'a:b' }, 7]],
  ...[{}, { a: 1 }, { name: 'a' }, { type: 'object' }, { type: 'object', properties: { a: true, b: {}, c: 1 } }],
  ...[{ type: ['object', 'null'], required: ['a', 1] }, { type: 'array' }, [{ name: 'a', required: 'yes' }, {}]],
  ...[{ audience: ['robot'], priority: 5 }, { readOnlyHint: 'yes' }, { taskSupport: 'maybe' }, { $schema: 1 }],
)
const OPTIONAL = ['title', 'description', 'icons', '_meta', 'annotations', 'mimeType', 'size', 'arguments', 'execution']
const optional = fc.dictionary(fc.constantFrom(...OPTIONAL, 'outputSchema', 'x-own'), anything, {
  maxKeys: 6,
  noNullPrototype: true,
}) as fc.Arbitrary<JsonObject>
const inputSchema = fc.constantFrom<Json>(
  ...[{}, { type: 'object' }, { type: 'object', properties: { a: true, b: false, c: { type: 'string' }, d: 3 } }],
  ...[
    { type: ['object', 'null'], properties: [], required: ['a', null] },
    { type: 'object', required: 'a' },
  ],
)

const KINDS = {
  'legacy tool': { legacy: ToolSchema, modern: specTypeSchemas.Tool },
  'modern tool': { legacy: undefined, modern: specTypeSchemas.Tool },
  prompt: { legacy: PromptSchema, modern: specTypeSchemas.Prompt },
  resource: { legacy: ResourceSchema, modern: specTypeSchemas.Resource },
  template: { legacy: ResourceTemplateSchema, modern: specTypeSchemas.ResourceTemplate },
} as const

const NEEDED: Readonly<Record<keyof typeof KINDS, readonly string[]>> = {
  'legacy tool': ['name', 'inputSchema'],
  'modern tool': ['name', 'inputSchema'],
  prompt: ['name'],
  resource: ['uri'],
  template: ['uriTemplate'],
}

describe(`${promise('GW-19')} a list entry with invalid fields`, () => {
  it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
    'is repaired so that clients of the SDK accept it: %s',
    (kind) => {
      const { legacy, modern } = KINDS[kind]
      fc.assert(
        fc.property(optional, inputSchema, anything, (fields, schema, name) => {
          const needed = { name: 'a', uri: 'a:b', uriTemplate: 'a:{b}', inputSchema: schema }
          const own = Object.fromEntries(NEEDED[kind].map((key) => [key, needed[key as keyof typeof needed]]))
          const entry: JsonObject = { ...fields, ...(kind === 'resource' && { name }), ...own }
          const shown = sanitizeEntry(kind, entry)
          expect(legacy?.safeParse(shown).error).toBeUndefined()
          expect(modern['~standard'].validate(shown)).not.toHaveProperty('issues')
          expect(shown['x-own']).toEqual(entry['x-own'])
          if ((legacy ?? ToolSchema).safeParse(entry).success && kind !== 'modern tool') expect(shown).toBe(entry)
        }),
        { numRuns: 3_000 },
      )
    },
  )
})
