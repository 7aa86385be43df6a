import { describe, expect, it } from 'vitest'
import { describeUnknownVariables, readEnvironment } from './environment.ts'

describe('the environment', () => {
  it('returns the variables that are set', () => {
    expect(readEnvironment({ SALLYPORT_HOME: '/h' })).toEqual({ home: '/h', state: undefined })
  })

  it.each([
    ['SALLYPORT_HOME', '  '],
    ['SALLYPORT_STATE', ''],
    ['SALLYPORT_STATE', '~ann/state'],
    ['SALLYPORT_HOME', 'a\0b'],
  ])('is refused for an invalid %s, with the name of the variable', (name, value) => {
    expect(() => readEnvironment({ [name]: value })).toThrow(name)
  })

  it('warns of a variable that nothing reads', () => {
    expect(
      describeUnknownVariables({ SALLYPORT_HOEM: 'x', SALLYPORT_TOKEN: 'y', PATH: '' }, ['SALLYPORT_TOKEN']),
    ).toEqual(['The variable SALLYPORT_HOEM is not known and is ignored. Did you mean "SALLYPORT_HOME"?'])
  })
})
