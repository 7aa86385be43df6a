import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { ClientSubscriptions } from './client-subscriptions.ts'
import { createRequest, createTestMethods, parseReply } from './methods.test-kit.ts'

const SENT = 'a'.repeat(32)
const CARRIED = 'b'.repeat(32)
const parentOf = (trace: string): string => `00-${trace}-00f067aa0ba902b7-01`

/** Each requests something that no server offers. */
const UNKNOWN: readonly (readonly [string, JsonObject, string, string])[] = [
  ['tools/call', { name: 'files_raed' }, 'files_raed', 'TOOL_UNKNOWN'],
  ['prompts/get', { name: 'nothing' }, 'nothing', 'PROMPT_UNKNOWN'],
  ['resources/read', { uri: 'x://y' }, 'x://y', 'RESOURCE_UNKNOWN'],
  ['resources/subscribe', { uri: 'x://y' }, 'x://y', 'RESOURCE_UNKNOWN'],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'nothing' } }, 'nothing', 'PROMPT_UNKNOWN'],
  ['completion/complete', { ref: { type: 'ref/resource', uri: 'x://y' } }, 'x://y', 'RESOURCE_UNKNOWN'],
]

describe(`a request for something that does not exist (${promise('GOV-24')})`, () => {
  it.each(UNKNOWN)('%s %j is recorded in the caller’s trace', async (method, params, name, error) => {
    const { methods, log, requests } = createTestMethods({ catalogues: { files: createCatalog(['read']) } })
    const answer = async (sent: JsonObject, traceparent?: string): Promise<string> => {
      const { request } = createRequest(method, sent, {
        carrier: { headers: { traceparent }, rawHeaders: [] },
        subscriptions: new ClientSubscriptions(() => {}),
      })
      expect(JSON.stringify(parseReply(await methods.answer(request)))).toContain(error)
      const [record, ...more] = log.events.splice(0)
      expect(more).toEqual([])
      expect(record).toMatchObject({ type: 'TOOL_CALL_FAILED', method, tool_name: name, error, user: 'ann' })
      return (record as unknown as { trace_id: string }).trace_id
    }
    const own = { ...params, _meta: { traceparent: parentOf(SENT) } }
    expect(await answer(own, parentOf(CARRIED))).toBe(SENT)
    expect(await answer(params, parentOf(CARRIED))).toBe(CARRIED)
    const broken = { ...params, _meta: { traceparent: 'not a trace' } }
    expect(await answer(broken, parentOf(CARRIED))).toBe(CARRIED)
    const [one, other] = [await answer(params), await answer(params)]
    expect([one, other]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.not.stringMatching(`^${one}$`)])
    expect(requests).toEqual([])
  })
})
