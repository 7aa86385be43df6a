import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { readLabelMeta, signLabel, verifyLabel } from './signed-label.ts'

const secret = 'a secret of more than thirty-two characters'
const claim = { session: 'one', sensitivity: 'SECRET', datasets: [{ name: 'payroll', sensitivity: 'SECRET' }] } as const
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a signed label can be read, for its session', () => {
  const signed = signLabel(claim, { secret })
  expect(verifyLabel(signed, { secret })).toEqual(claim)
  expect(verifyLabel(signed, { secret, session: 'one' })).toEqual(claim)
  expect(verifyLabel(signed, { secret, session: 'two' })).toBeUndefined()
})

test('two labels are never the same string, and contain the time of signing', () => {
  const signed = [0, 1].map(() => signLabel(claim, { secret, now: () => 5_000 }))
  expect(new Set(signed).size).toBe(2)
  expect(JSON.parse(Buffer.from(String(signed[0]?.split('.')[1]), 'base64url').toString())).toMatchObject({ iat: 5 })
})

test('changing any character makes it invalid', () => {
  const signed = signLabel(claim, { secret })
  for (let index = 0; index < signed.length; index++) {
    const other = signed[index] === 'A' ? 'B' : 'A'
    expect(verifyLabel(signed.slice(0, index) + other + signed.slice(index + 1), { secret })).toBeUndefined()
  }
})

test('forgeries are ignored: other secrets, no algorithm, the secret used without derivation, more parts, other types', () => {
  const signed = signLabel(claim, { secret })
  const [header, payload, signature] = signed.split('.') as [string, string, string]
  const none = encode({ alg: 'none', typ: 'sallyport-label' })
  const bare = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')
  for (const forged of [
    signLabel(claim, { secret: 'another long enough secret for HMAC-SHA256' }),
    `${none}.${payload}.`,
    `${none}.${payload}.${signature}`,
    `${header}.${payload}.${bare}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${signed}.`,
    `${signed}=`,
    ` ${signed}`,
    `${header}.${encode({ ...claim, sensitivity: 'PUBLIC' })}.${signature}`,
    '',
    'x'.repeat(10_000_000),
    undefined,
    null,
    7,
    [signed],
    { signed },
  ])
    expect(verifyLabel(forged, { secret })).toBeUndefined()
})

test('a level that only a newer server knows counts as the strictest', () => {
  const signed = signLabel({ ...claim, sensitivity: 'TOP' as 'SECRET' }, { secret })
  expect(verifyLabel(signed, { secret })?.sensitivity).toBe('SECRET')
})

test('a secret that could be guessed is refused on both sides', () => {
  expect(() => signLabel(claim, { secret: 'short' })).toThrow('5 bytes; expected at least 32')
  expect(() => verifyLabel('x', { secret: '' })).toThrow('0 bytes')
})

test('a claim is as strict as its strictest part, and an unreadable part is the strictest', () => {
  const secretDataset = { name: 'a', sensitivity: 'SECRET' }
  const internalDataset = { name: 'a', sensitivity: 'INTERNAL' }
  const sensitivityOf = (value: unknown) => readLabelMeta(value, {})?.sensitivity
  expect(sensitivityOf({ sensitivity: 'PUBLIC', datasets: [secretDataset] })).toBe('SECRET')
  expect(sensitivityOf({ sensitivity: 'CONFIDENTIAL', datasets: [internalDataset] })).toBe('CONFIDENTIAL')
  expect(sensitivityOf({ datasets: [internalDataset] })).toBe('INTERNAL')
  for (const odd of [{}, { datasets: [] }, { sensitivity: 'PUBLIC', datasets: [{ name: 'a' }] }, 'PUBLIC', null, []])
    expect(sensitivityOf(odd)).toBe('SECRET')
})

test('the plain label is trusted if the server and the channel are trusted, but not if a secret is set', () => {
  const plain = { sensitivity: 'INTERNAL', datasets: [{ name: 'a', sensitivity: 'INTERNAL' }] }
  expect(readLabelMeta(plain, {})).toEqual(plain)
  expect(readLabelMeta({ sensitivity: 'odd' }, {})).toEqual({ sensitivity: 'SECRET', datasets: [] })
  expect(readLabelMeta(undefined, {})).toBeUndefined()
  expect(readLabelMeta(plain, { secret })).toBeUndefined()
  expect(readLabelMeta({ ...plain, signed: signLabel(claim, { secret }) }, { secret })?.sensitivity).toBe('SECRET')
})
