import { SallyportError } from '@sallyport/core'
import { expect, it } from 'vitest'
import { CallEgress } from '../sandbox/sandbox.ts'
import { scanFrame } from '../upstream/upstream.ts'
import { addFailedConnections } from './add-failed-connections.ts'
import type { Answer } from './call.ts'

const egress = new CallEgress({ callId: 'c', traceId: 't' })
egress.addFailed(
  { host: 'api.test', port: 443, ok: false, reason: 'the network mode is NONE', at: 0 },
  { mode: 'NONE', allow: [] },
)
const TEXT = egress.describe() ?? ''

const frame = (json: string): Answer => ({ kind: 'frame', frame: scanFrame([Buffer.from(json)]), era: 'legacy' })
const added = (json: string): string => {
  const answer = addFailedConnections(frame(json), egress)
  return answer.kind === 'frame' ? Buffer.concat(answer.frame.parts).toString() : ''
}
const block = JSON.stringify({ type: 'text', text: TEXT })

it('adds a block of text to an error of a tool, and changes no other byte, nor what a schema describes', () => {
  const head =
    '{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"status":403,"big":12345678901234567890,"e":1.0},'
  expect(added(`${head}"isError":true,"content":[{"type":"text","text":"fetch failed"}]}}`)).toBe(
    `${head}"isError":true,"content":[{"type":"text","text":"fetch failed"},${block}]}}`,
  )
  expect(added(`${head}"isError":true,"content":[]}}`)).toBe(`${head}"isError":true,"content":[${block}]}}`)
})

it('adds the text to the message of a JSON-RPC error', () => {
  expect(added('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"It failed.","data":{"a":1.0}}}')).toBe(
    `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":${JSON.stringify(`It failed. ${TEXT}`)},"data":{"a":1.0}}}`,
  )
})

it('adds it to the hint of an error of the gateway', () => {
  const error = new SallyportError('UPSTREAM_TIMEOUT', 'It took too long.', { hint: 'Try again.' })
  const answer = addFailedConnections({ kind: 'failure', error }, egress)
  expect(answer).toMatchObject({ error: { code: 'UPSTREAM_TIMEOUT', hint: `Try again. ${TEXT}` } })
})

it('leaves results alone that are no error, and errors of calls without a failed connection', () => {
  const good = frame('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
  expect(addFailedConnections(good, egress)).toBe(good)
  const failed = frame('{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}')
  expect(addFailedConnections(failed, undefined)).toBe(failed)
  expect(addFailedConnections(failed, new CallEgress({ callId: 'c', traceId: 't' }))).toBe(failed)
})
