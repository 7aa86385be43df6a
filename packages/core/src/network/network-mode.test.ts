import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isAtLeast, SENSITIVITIES } from '../policy/sensitivity.ts'
import { isNetworkMode, isWiderMode, NETWORK_MODES, networkModeFor } from './network-mode.ts'

test('the mode follows the label', () => {
  expect(SENSITIVITIES.map((each) => networkModeFor(each))).toEqual(['FULL', 'FULL', 'PROXIED', 'NONE'])
  expect(SENSITIVITIES.map((each) => networkModeFor(each, 'INTERNAL'))).toEqual(['FULL', 'PROXIED', 'PROXIED', 'NONE'])
  expect(SENSITIVITIES.map((each) => networkModeFor(each, 'SECRET'))).toEqual(['FULL', 'FULL', 'FULL', 'NONE'])
})

test('a higher label never has a wider mode', () => {
  const anySensitivity = fc.constantFrom(...SENSITIVITIES)
  fc.assert(
    fc.property(anySensitivity, anySensitivity, anySensitivity, (label, other, privateFrom) => {
      fc.pre(isAtLeast(label, other))
      expect(isWiderMode(networkModeFor(label, privateFrom), networkModeFor(other, privateFrom))).toBe(false)
    }),
  )
})

test('FULL is the widest mode, and NONE the narrowest', () => {
  for (const [at, mode] of NETWORK_MODES.entries())
    for (const [other, than] of NETWORK_MODES.entries()) expect(isWiderMode(mode, than)).toBe(at < other)
})

test('an unknown word that got past the compiler is wider than no mode, and an unknown label has mode NONE', () => {
  for (const mode of NETWORK_MODES) expect(isWiderMode('OPEN' as 'FULL', mode)).toBe(false)
  expect(networkModeFor('TOP' as 'SECRET')).toBe('NONE')
})

test('only the exact words are modes', () => {
  expect(NETWORK_MODES.every(isNetworkMode)).toBe(true)
  expect(['full', '', 'PUBLIC', undefined, 3].some(isNetworkMode)).toBe(false)
})
