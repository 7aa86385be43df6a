import { describe, expect, it } from 'vitest'
import { isResourceAddress, parseResourceAddress, toResourceAddress } from './resource-address.ts'

describe('the address of a resource', () => {
  it('names its server and its own URI, whatever the URI is', () => {
    for (const uri of ['file:///a b', '', ':', 'sallyport+b:x', 'é\n{x}']) {
      const address = toResourceAddress('my-docs', uri)
      expect(isResourceAddress(address)).toBe(true)
      expect(parseResourceAddress(address)).toEqual({ server: 'my-docs', uri })
    }
  })

  it('is not read into anything else', () => {
    for (const text of ['file:///a', 'sallyport+docs', 'sallyport:x', 'Sallyport+docs:x', ''])
      expect(parseResourceAddress(text), text).toBeUndefined()
  })
})
