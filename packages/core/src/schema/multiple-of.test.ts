import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMultipleOf } from './multiple-of.ts'

describe('isMultipleOf', () => {
  it.each([
    [0.3, 0.1],
    [1.1, 0.01],
    [19.99, 0.01],
    [-4.5, 1.5],
    [0, 7],
    [-0, 0.1],
    [1e22, 1],
    [12391239123, 1e-8],
    [1e308, 1e-300],
  ])('%d is a multiple of %d', (value, step) => {
    expect(isMultipleOf(value, step)).toBe(true)
  })

  it.each([
    [0.35, 0.1],
    [7, 2],
    [1e308, 0.123456789],
    [5e-324, 1e-323],
    [Number.POSITIVE_INFINITY, 1],
    [1, 0],
  ])('%d is not a multiple of %d', (value, step) => {
    expect(isMultipleOf(value, step)).toBe(false)
  })

  it('accepts every decimal with two digits as a multiple of 0.01', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), (hundredths) => {
        expect(isMultipleOf(Number(`${hundredths}e-2`), 0.01)).toBe(true)
        expect(isMultipleOf(Number(`${hundredths}5e-3`), 0.01)).toBe(false)
      }),
    )
  })
})
