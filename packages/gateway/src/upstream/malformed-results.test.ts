import { specTypeSchemas } from '@modelcontextprotocol/client'
import {
  CallToolResultSchema,
  CompleteResultSchema,
  GetPromptResultSchema,
  ReadResourceResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { findAnswerProblem } from './answers/answer-problem.ts'
import { cleanAnswer } from './answers/clean-answer.ts'
import { FrameReader } from './answers/frame-reader.ts'
import { parseFrame } from './answers/parse-frame.ts'
import { malformedResults } from './malformed-results.test-kit.ts'
import { GATEWAY_PERMIT } from './permit.ts'
import type { Frame } from './transport.ts'

const KNOWN = new Set(['text', 'image', 'audio', 'resource', 'resource_link'])
const isTakenBy = (schema: { safeParse(value: unknown): { success: boolean } }) => (result: JsonObject) =>
  schema.safeParse(result).success
const LEGACY_SDK = {
  'tools/call': isTakenBy(CallToolResultSchema),
  'prompts/get': isTakenBy(GetPromptResultSchema),
  'resources/read': isTakenBy(ReadResourceResultSchema),
  'completion/complete': isTakenBy(CompleteResultSchema),
}
const MODERN_SDK = {
  'tools/call': specTypeSchemas.CallToolResult,
  'prompts/get': specTypeSchemas.GetPromptResult,
  'resources/read': specTypeSchemas.ReadResourceResult,
  'completion/complete': specTypeSchemas.CompleteResult,
}
type Method = keyof typeof LEGACY_SDK
const METHODS = Object.keys(LEGACY_SDK) as Method[]

function frameOf(text: string, cuts: readonly number[] = []): Frame {
  const bytes = Buffer.from(text)
  const reader = new FrameReader(1_000_000)
  let from = 0
  for (const cut of [...cuts].map((at) => at % bytes.length).sort((a, b) => a - b)) {
    reader.feed(bytes.subarray(from, cut))
    from = cut
  }
  reader.feed(bytes.subarray(from))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(outcome.kind)
  return outcome.frame
}

/** What a client gets for a result; `undefined` if it is refused. */
function passed(method: Method, frame: Frame, era: 'legacy' | 'modern'): JsonObject | undefined {
  if (
    findAnswerProblem(frame, { request: { method, params: {}, permit: GATEWAY_PERMIT }, era, capabilities: {} }) !==
    undefined
  )
    return undefined
  return parseFrame(cleanAnswer(frame, { method, era, server: 'odd' })).result as JsonObject
}

/** The same without blocks of types that the protocol does not have, which no SDK accepts. */
function withoutUnknown(result: JsonObject): JsonObject {
  const isKnown = (item: Json): boolean => {
    const { type } = isJsonObject(item) && isJsonObject(item.content) ? item.content : (item as JsonObject)
    return typeof type !== 'string' || KNOWN.has(type)
  }
  const list = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isKnown) : value)
  return { ...result, content: list(result.content), messages: list(result.messages) }
}

const printed = (result: JsonObject): string => `{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(result)}}`

describe(`${promise('GW-17')} a result with mistakes in it`, () => {
  it.each(METHODS)('is accepted by the clients of the SDK, if it is passed on: %s', (method) => {
    fc.assert(
      fc.property(
        malformedResults[method] as fc.Arbitrary<JsonObject>,
        fc.constantFrom('legacy', 'modern'),
        fc.array(fc.nat(2_000), { maxLength: 3 }),
        (result, era, cuts) => {
          const shown = passed(method, frameOf(printed(result), cuts), era)
          if (shown === undefined) return
          const known = withoutUnknown(shown)
          // Any value is structured content of the modern era; legacy clients get it in an object.
          const isForAll = era === 'legacy' || method !== 'tools/call'
          expect(!isForAll || LEGACY_SDK[method](known)).toBe(true)
          expect(MODERN_SDK[method]['~standard'].validate(known)).not.toHaveProperty('issues')
          expect(JSON.stringify({ ...shown, structuredContent: {} })).not.toContain('FORGED')
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it.each(METHODS)('is unchanged if the SDK accepts it: %s', (method) => {
    fc.assert(
      fc.property(
        malformedResults[method] as fc.Arbitrary<JsonObject>,
        fc.array(fc.nat(2_000), { maxLength: 3 }),
        (result, cuts) => {
          const text = printed(result)
          if (text.includes('"sallyport/error"') || !LEGACY_SDK[method](result)) return
          expect(passed(method, frameOf(text, cuts), 'legacy')).toEqual({
            ...(method === 'tools/call' && { content: [] }),
            ...result,
          })
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
