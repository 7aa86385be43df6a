import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { findPersonalData } from './personal-data.ts'

describe(`personal data in a text (${promise('SEN-2')})`, () => {
  it.each([
    ['write to ada@example.org.', 'an e-mail address'],
    ['card 4111 1111 1111 1111, expires', 'a payment card'],
    ['card 4111-1111-1111-1111', 'a payment card'],
    ['378282246310005', 'a payment card'],
    ['pay to DE89 3704 0044 0532 0130 00 please', 'an IBAN'],
    ['GB82WEST12345698765432', 'an IBAN'],
    ['ssn 123-45-6789', 'a US social security number'],
  ])('is found in %j', (text, kind) => {
    expect(findPersonalData(text)).toBe(kind)
  })

  it.each([
    '',
    'a@b',
    'version 1.2.3-4',
    'card 4111 1111 1111 1112',
    '0000 0000 0000 0000',
    'order 12345678901234567890123',
    'DE89 3704 0044 0532 0130 01',
    '2026-11-18T12:00:00',
    '000-12-3456',
    '1123-45-67890',
  ])('is not found in %j', (text) => {
    expect(findPersonalData(text)).toBe(undefined)
  })

  it.each([
    '1'.repeat(1_000_000),
    'a@'.repeat(500_000),
    '1-'.repeat(500_000),
    'AB12 '.repeat(200_000),
    '@a.'.repeat(300_000),
  ])('is looked for in linear time: %.10s', (text) => {
    expect(['a payment card', undefined]).toContain(findPersonalData(text))
  })
})
