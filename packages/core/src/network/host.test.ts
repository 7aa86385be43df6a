import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatHostAndPort, parseHost, parseHostAndPort } from './host.ts'

test.each([
  ['API.Example.COM', 'api.example.com'],
  ['api.example.com.', 'api.example.com'],
  ['db', 'db'],
  ['my_host-1', 'my_host-1'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  ['ｅｘａｍｐｌｅ。com', 'example.com'],
])('%s is the name %s', (written, host) => {
  expect(parseHost(written)).toBe(host)
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['127.0.0.1.', '127.0.0.1'],
  ['127.1', '127.0.0.1'],
  ['0x7f.1', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['0177.0.0.01', '127.0.0.1'],
  ['１２７.0.0.1', '127.0.0.1'],
  ['0', '0.0.0.0'],
  ['[::1]', '::1'],
  ['[0:0:0:0:0:0:0:1]', '::1'],
  ['[::FFFF:127.0.0.1]', '::ffff:7f00:1'],
  ['[2001:DB8::0:1]', '2001:db8::1'],
])('%s is the address %s', (written, host) => {
  expect(parseHost(written)).toBe(host)
})

test.each([
  '',
  '.',
  '..',
  'a..b',
  '.a',
  'a b',
  'a\tb',
  'a\n',
  'a\0',
  'a@b',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'a:80',
  'a%2eb',
  '%31%32%37.0.0.1',
  'a％2eb',
  'a＠b',
  'a：80',
  'a*',
  '*.a',
  "a'b",
  '::1',
  '[::1',
  '[::1%lo]',
  '[::1]x',
  '[v1.a]',
  '[]',
  '1.2.3.4.5',
  '256.1.1.1',
  '1.2.3.08',
  '4294967296',
  'x'.repeat(64),
  'a.'.repeat(128),
  'a'.repeat(5_000),
])('%s is not a valid host', (written) => {
  expect(parseHost(written)).toBeUndefined()
})

test('the longest name has 253 characters', () => {
  const name = `${'a.'.repeat(126)}a`
  expect(parseHost(name)).toBe(name)
})

test('a port is a decimal number from 1 to 65535', () => {
  expect(parseHostAndPort('a:443')).toEqual({ host: 'a', port: 443 })
  expect(parseHostAndPort('a:65535')).toEqual({ host: 'a', port: 65_535 })
  expect(parseHostAndPort('[::1]:1')).toEqual({ host: '::1', port: 1 })
  const wrong = ['a', 'a:', 'a:0', 'a:00443', 'a:65536', 'a:4x', 'a:-1', 'a: 1', 'a:1:2', '::1:443', '[::1]443', ':443']
  for (const written of wrong) expect([written, parseHostAndPort(written)]).toEqual([written, undefined])
})

test('a missing port is the default one, and an empty one is not', () => {
  expect(parseHostAndPort('a', 80)).toEqual({ host: 'a', port: 80 })
  expect(parseHostAndPort('[::1]', 80)).toEqual({ host: '::1', port: 80 })
  expect(parseHostAndPort('a:', 80)).toBeUndefined()
})

test('what is parsed is in its last form, and can be written and parsed again', () => {
  const anyHost = fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.string({ maxLength: 30 }),
    fc.stringMatching(/^[0-9a-fx.]{1,20}$/),
  )
  fc.assert(
    fc.property(anyHost, fc.integer({ min: 1, max: 65_535 }), (written, port) => {
      const host = parseHost(written)
      fc.pre(host !== undefined)
      const text = formatHostAndPort({ host, port })
      expect(parseHostAndPort(text)).toEqual({ host, port })
      expect(text).toMatch(/^[a-z0-9._\-[\]:]+$/)
    }),
  )
})
