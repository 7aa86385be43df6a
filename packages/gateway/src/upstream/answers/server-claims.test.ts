import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { parseFrame } from './parse-frame.ts'
import { scanFrame } from './redact-frame.ts'
import { readQuestionClaims, readServerClaims } from './server-claims.ts'

const toFrame = (text: string) => scanFrame([Buffer.from(text)])
const answer = (meta: string) => toFrame(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{${meta}}}}`)

describe(`what a server says to the gateway in an answer (${promise('SEN-20')})`, () => {
  it('is read by its key, however that is written', () => {
    expect(readServerClaims(answer('"other":1'))).toBe(undefined)
    expect(readServerClaims(answer('"sallyport/a":{"x":1}'))).toEqual({ 'sallyport/a': { x: 1 } })
    expect(readServerClaims(answer('"\\u0073allyport\\/a":1'))).toEqual({ 'sallyport/a': 1 })
  })

  it.each([
    ['the key', '"sallyport/a":1,"sallyport/a":2'],
    ['a member', '"sallyport/a":{"level":"SECRET","level":"PUBLIC"}'],
    ['a deeper member', '"sallyport/a":[{"level":"SECRET","\\u006cevel":"PUBLIC"}]'],
  ])('is unknown if %s is there twice', (_, meta) => {
    expect(readServerClaims(answer(meta))).toEqual({ 'sallyport/a': null })
  })

  it('is unknown if it is too long', () => {
    expect(readServerClaims(answer(`"sallyport/a":"${'x'.repeat(200_000)}"`))).toEqual({ 'sallyport/a': null })
  })
})

describe('what it says in a question', () => {
  const claimsIn = (params: string): JsonObject | undefined => {
    const frame = toFrame(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":${params}}`)
    return readQuestionClaims(parseFrame(frame), frame)
  }

  it('is read from the `_meta` of the question only', () => {
    expect(claimsIn('{"_meta":{"sallyport/a":{"x":1},"b":2}}')).toEqual({ 'sallyport/a': { x: 1 } })
    for (const params of ['{}', '[]', '{"_meta":{"b":2}}', '{"message":{"_meta":{"sallyport/a":1}}}'])
      expect(claimsIn(params)).toBe(undefined)
  })

  it('is unknown if anything in it is there twice', () => {
    const twice = '"sallyport/a":{"level":"SECRET","level":"PUBLIC"}'
    expect(claimsIn(`{"_meta":{${twice}}}`)).toEqual({ 'sallyport/a': null })
    expect(claimsIn('{"_meta":{"sallyport/a":1},"_meta":{"sallyport/a":2}}')).toEqual({ 'sallyport/a': null })
  })
})
