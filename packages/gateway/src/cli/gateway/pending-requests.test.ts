import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { PendingRequests } from './pending-requests.ts'

const line = (message: object): Buffer => Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const asked = (id: unknown, method = 'tools/call'): Buffer => line({ id, method })
const answered = (id: unknown): Buffer => line({ id, result: { text: 'grüße' } })
const givenUp = (pending: PendingRequests): readonly unknown[] =>
  pending.failPending().map((text) => (text === '\n' ? text : (JSON.parse(text) as { id: unknown }).id))

describe(`pending requests (${promise('GW-27')})`, () => {
  it('get an error once, exactly those that had no answer', () => {
    const id = fc.oneof(fc.integer(), fc.stringMatching(/^[ -~]{0,20}$/))
    fc.assert(
      fc.property(
        fc.uniqueArray(id, { maxLength: 10 }),
        fc.nat(),
        fc.integer({ min: 1, max: 30 }),
        (ids, mask, size) => {
          const pending = new PendingRequests()
          const answers = ids.filter((_, index) => (mask >> index) & 1)
          const feed = (bytes: Buffer, take: (chunk: Buffer) => void): void => {
            for (let at = 0; at < bytes.length; at += size) take(bytes.subarray(at, at + size))
          }
          feed(Buffer.concat(ids.map((one) => asked(one))), (chunk) => pending.onSent(chunk))
          feed(Buffer.concat(answers.map(answered)), (chunk) => pending.onReceived(chunk))
          expect(givenUp(pending)).toEqual(ids.filter((one) => !answers.includes(one)))
          expect(givenUp(pending)).toEqual([])
        },
      ),
    )
  })

  it('do not include notifications, responses, invalid lines and cancelled requests', () => {
    const pending = new PendingRequests()
    for (const text of ['rubbish\n', '[1]\n', 'null\n']) pending.onSent(Buffer.from(text))
    pending.onSent(Buffer.concat([line({ method: 'n' }), line({ id: 5, result: {} }), asked(1), asked('2')]))
    pending.onSent(line({ method: 'notifications/cancelled', params: { requestId: 1 } }))
    pending.onSent(line({ method: 'notifications/cancelled', params: [] }))
    expect(givenUp(pending)).toEqual(['2'])
  })

  it('do not include ids that cannot be matched to an answer', () => {
    const pending = new PendingRequests()
    for (const id of ['grüße', 1.5, null, true, 'x'.repeat(300)]) pending.onSent(asked(id))
    expect(givenUp(pending)).toEqual([])
  })

  it('are not retryable if a call may have been made, and are if nothing can have happened', () => {
    const pending = new PendingRequests()
    pending.onSent(Buffer.concat([asked(1), asked(2, 'tools/list'), asked(3, 'resources/read')]))
    const errors = pending.failPending().map((text) => JSON.parse(text).error)
    expect(errors.map(({ data }) => data.retryable)).toEqual([false, true, true])
    expect(errors[0].message).not.toContain('Try again')
    expect(errors[0].message).toContain('check what it did before you repeat it')
    expect(errors[1].message).toContain('Try again')
  })

  it('include subscriptions, though nobody waits for their end', () => {
    const pending = new PendingRequests()
    let done = 0
    pending.onSent(asked(1, 'subscriptions/listen'))
    pending.whenAnswered(() => void done++)
    expect(done).toBe(1)
    expect(givenUp(pending)).toEqual([1])
  })

  it('can be waited for', () => {
    const pending = new PendingRequests()
    let done = 0
    pending.onSent(Buffer.concat([asked(1), asked(2)]))
    pending.whenAnswered(() => void done++)
    pending.onReceived(answered(1))
    expect(done).toBe(0)
    pending.onReceived(answered(2))
    expect(done).toBe(1)
  })

  it('are not confused with requests of the server with the same id', () => {
    const pending = new PendingRequests()
    pending.onSent(asked(1))
    pending.onReceived(line({ id: 1, method: 'ping' }))
    expect(givenUp(pending)).toEqual([1])
  })

  it('get their error on a new line if an answer was cut off', () => {
    const pending = new PendingRequests()
    pending.onSent(asked(1))
    pending.onReceived(answered(1).subarray(0, 20))
    expect(givenUp(pending)).toEqual(['\n', 1])
    pending.onSent(asked(2))
    pending.onReceived(answered(2))
    expect(givenUp(pending)).toEqual([])
  })

  it('keep the beginning of a line that was not sent completely', () => {
    const pending = new PendingRequests()
    pending.onSent(Buffer.concat([asked(1), asked(2).subarray(0, 10)]))
    expect(pending.unfinished).toEqual(asked(2).subarray(0, 10))
  })
})

describe('the handshake with another gateway', () => {
  const INITIALIZE = asked('i', 'initialize')
  const INITIALIZED = line({ method: 'notifications/initialized' })

  it('is sent again, its answer is hidden, and list changes are announced', async () => {
    const pending = new PendingRequests()
    pending.onSent(Buffer.concat([INITIALIZE, INITIALIZED, INITIALIZED]))
    pending.onReceived(answered('i'))
    const [gateway, output] = [new PassThrough(), new PassThrough()]
    const greeting = pending.repeatHandshake(gateway, output)
    await greeting
    const said = String(output.read())
    expect(
      said
        .split('\n')
        .filter(Boolean)
        .map((text) => JSON.parse(text).method),
    ).toEqual(['tools', 'prompts', 'resources'].map((what) => `notifications/${what}/list_changed`))
    // What we said comes back over a PassThrough: its first line was taken for the answer, the rest is left.
    expect(String(gateway.read())).toBe(INITIALIZED.toString())
  })

  it('passes the answer on if the first gateway never gave one', async () => {
    const pending = new PendingRequests()
    pending.onSent(INITIALIZE)
    expect(givenUp(pending)).toEqual([])
    const [gateway, output] = [new PassThrough(), new PassThrough()]
    await pending.repeatHandshake(gateway, output)
    expect(output.read()).toBeNull()
    pending.onReceived(answered('i'))
    expect(givenUp(pending)).toEqual([])
  })

  it('ends when that gateway ends too', async () => {
    const pending = new PendingRequests()
    pending.onSent(INITIALIZE)
    pending.onReceived(answered('i'))
    const gateway = new PassThrough({ write: () => {} } as object)
    const greeting = pending.repeatHandshake(gateway, new PassThrough())
    gateway.destroy()
    await greeting
  })
})
