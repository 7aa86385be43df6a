import { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { parseProblem, toProblem } from './problem.ts'

const passedOn = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('an error that is sent to another process', () => {
  it.each([
    new SallyportError('STATE_HELD', 'It is held.', { hint: 'Wait.' }),
    new SallyportError('CALL_DENIED', 'No.'),
  ])('is the same error there: $code', (error) => {
    const { code, message, hint } = parseProblem(passedOn(toProblem(error))) ?? {}
    expect({ code, message, hint }).toEqual({ code: error.code, message: error.message, hint: error.hint })
  })

  it('is found in the data of a JSON-RPC error', () => {
    const value = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'No.', data: { code: 'HOST_REFUSED' } } }
    expect(parseProblem(value)).toMatchObject({ code: 'HOST_REFUSED', message: 'No.' })
  })

  it.each([
    undefined,
    null,
    'text',
    {},
    { error: 'text' },
    { error: { message: 'No.' } },
    { error: { code: 'OF_A_LATER_VERSION', message: 'No.' } },
    { error: { code: 'constructor', message: 'No.' } },
    { error: { code: -32603, message: 'No.' } },
  ])('is not read from %j', (value) => {
    expect(parseProblem(value)).toBeUndefined()
  })
})
