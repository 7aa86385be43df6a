import fc from 'fast-check'
import { expect, test } from 'vitest'
import { higherSensitivity, isAtLeast, isPrivate, parseSensitivity, SENSITIVITIES } from './sensitivity.ts'

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

test('private begins at CONFIDENTIAL, unless it is said where', () => {
  expect(SENSITIVITIES.filter((each) => isPrivate(each))).toEqual(['CONFIDENTIAL', 'SECRET'])
  expect(SENSITIVITIES.filter((each) => isPrivate(each, 'INTERNAL'))).toEqual(['INTERNAL', 'CONFIDENTIAL', 'SECRET'])
  expect(SENSITIVITIES.filter((each) => isPrivate(each, 'PUBLIC'))).toEqual(SENSITIVITIES)
})

test('a word that got past the compiler counts as the strictest', () => {
  expect(isPrivate('TOP' as 'SECRET')).toBe(true)
})

test('a sensitivity is read in any case, and a wrong one is told with its place and what was meant', () => {
  expect(['secret', ' Confidential ', 'PUBLIC'].map((word) => parseSensitivity(word, 'x'))).toEqual([
    'SECRET',
    'CONFIDENTIAL',
    'PUBLIC',
  ])
  expect(() => parseSensitivity('confidental', 'servers.db.sensitivity')).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: 'servers.db.sensitivity is "confidental", which is no sensitivity.',
      hint: 'Expected one of PUBLIC, INTERNAL, CONFIDENTIAL, SECRET. Did you mean "CONFIDENTIAL"?',
    }),
  )
  for (const wrong of [undefined, null, 3, '', {}, ['SECRET'], 'x'.repeat(10_000)])
    expect(() => parseSensitivity(wrong, 'x')).toThrow(/^x is .{1,60}, which is no sensitivity\.$/)
})
