import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isAtLeast,
  isPrivate,
  isSensitivity,
  LOWEST_SENSITIVITY,
  parseSensitivity,
  SENSITIVITIES,
} from './sensitivity.ts'

const anySensitivity = fc.constantFrom(...SENSITIVITIES)

test('merging takes the maximum, in whatever order and however often', () => {
  fc.assert(
    fc.property(anySensitivity, anySensitivity, anySensitivity, (a, b, c) => {
      expect(higherSensitivity(a, b)).toBe(higherSensitivity(b, a))
      expect(higherSensitivity(a, a)).toBe(a)
      expect(higherSensitivity(higherSensitivity(a, b), c)).toBe(higherSensitivity(a, higherSensitivity(b, c)))
      expect(isAtLeast(higherSensitivity(a, b), a)).toBe(true)
    }),
  )
})

test('they are ordered from the least to the most confidential', () => {
  expect(SENSITIVITIES).toEqual(['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'])
  expect([LOWEST_SENSITIVITY, HIGHEST_SENSITIVITY]).toEqual(['PUBLIC', 'SECRET'])
  for (const [at, one] of SENSITIVITIES.entries())
    for (const [other, each] of SENSITIVITIES.entries()) {
      expect(isAtLeast(one, each)).toBe(at >= other)
      expect(higherSensitivity(one, each)).toBe(at >= other ? one : each)
    }
})

test('only the exact words are valid', () => {
  expect(['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'].every(isSensitivity)).toBe(true)
  expect(['secret', '', 'TOP', undefined, null, 3, ['SECRET']].some(isSensitivity)).toBe(false)
})

test('private begins at CONFIDENTIAL by default', () => {
  expect(SENSITIVITIES.filter((each) => isPrivate(each))).toEqual(['CONFIDENTIAL', 'SECRET'])
  expect(SENSITIVITIES.filter((each) => isPrivate(each, 'INTERNAL'))).toEqual(['INTERNAL', 'CONFIDENTIAL', 'SECRET'])
  expect(SENSITIVITIES.filter((each) => isPrivate(each, 'PUBLIC'))).toEqual(SENSITIVITIES)
})

test('an unknown word that got past the compiler counts as the strictest', () => {
  const unknown = 'TOP' as 'SECRET'
  expect(isPrivate(unknown)).toBe(true)
  for (const each of SENSITIVITIES) {
    expect(higherSensitivity(each, unknown)).toBe(unknown)
    expect(isAtLeast(unknown, each)).toBe(true)
    expect(isAtLeast(each, unknown)).toBe(false)
  }
})

test('a sensitivity is read in any case, and an invalid one is reported with its setting and a suggestion', () => {
  expect(['secret', ' Confidential ', 'PUBLIC'].map((word) => parseSensitivity(word, 'x'))).toEqual([
    'SECRET',
    'CONFIDENTIAL',
    'PUBLIC',
  ])
  expect(() => parseSensitivity('confidental', 'servers.db.sensitivity')).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: 'servers.db.sensitivity is "confidental", which is not a valid sensitivity.',
      hint: 'Expected one of PUBLIC, INTERNAL, CONFIDENTIAL, SECRET. Did you mean "CONFIDENTIAL"?',
    }),
  )
  for (const [wrong, shown] of [
    [undefined, 'undefined'],
    [3, '3'],
    [true, 'true'],
    [null, 'not a string'],
    [{}, 'not a string'],
    [['SECRET'], 'not a string'],
    ['', '""'],
  ] as const)
    expect(() => parseSensitivity(wrong, 'x')).toThrow(
      expect.objectContaining({
        message: `x is ${shown}, which is not a valid sensitivity.`,
        hint: 'Expected one of PUBLIC, INTERNAL, CONFIDENTIAL, SECRET.',
      }),
    )
  expect(() => parseSensitivity('y'.repeat(60), 'x')).toThrow(`x is "${'y'.repeat(40)}…", which`)
  for (const wrong of [undefined, null, 3, '', {}, ['SECRET'], 'x'.repeat(10_000)])
    expect(() => parseSensitivity(wrong, 'x')).toThrow(/^x is .{1,60}, which is not a valid sensitivity\.$/)
})
