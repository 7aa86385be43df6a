import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatHostRule, type HostRule, isListed, parseHostRule } from './host-rules.ts'

const rule = (written: string): HostRule => {
  const parsed = parseHostRule(written)
  if (parsed === undefined) throw new Error(`${written} is not valid`)
  return parsed
}
const lists = (written: string, host: string, port = 443): boolean => isListed([rule(written)], { host, port })

test.each([
  ['api.internal', { host: 'api.internal', isWildcard: false, ports: [80, 443] }],
  ['API.Internal.:8443', { host: 'api.internal', isWildcard: false, ports: [8443] }],
  ['*.corp.example', { host: 'corp.example', isWildcard: true, ports: [80, 443] }],
  ['*.bücher.example:443', { host: 'xn--bcher-kva.example', isWildcard: true, ports: [443] }],
  ['10.0.0.7:5432', { host: '10.0.0.7', isWildcard: false, ports: [5432] }],
  ['[FD00::1]', { host: 'fd00::1', isWildcard: false, ports: [80, 443] }],
  ['[fd00::1]:5432', { host: 'fd00::1', isWildcard: false, ports: [5432] }],
])('%s is a rule', (written, expected) => {
  expect(parseHostRule(written)).toEqual(expected)
})

test.each([
  '',
  '*',
  '*.',
  '*:443',
  '*a.example',
  'a.*.example',
  '*.*.example',
  'a:',
  'a:0',
  'a:99999',
  'a:*',
  'http://a',
  'a/b',
  '::1',
  'fd00::1:443',
  '*.10.0.0.7',
  '*.[::1]',
  '127.1',
  '2130706433',
  '0x7f.0.0.1:80',
  '10.0.0.07',
  '10.0.0.0/8',
])('%s is not a valid rule', (written) => {
  expect(parseHostRule(written)).toBeUndefined()
})

test('a rule lists exactly its host', () => {
  expect(lists('api.internal', 'api.internal')).toBe(true)
  for (const host of ['xapi.internal', 'a.api.internal', 'api.internal.evil.test', 'internal', 'api-internal'])
    expect([host, lists('api.internal', host)]).toEqual([host, false])
})

test('a wildcard lists what is below its host, however deep, and not the host itself', () => {
  expect(lists('*.corp.example', 'a.corp.example')).toBe(true)
  expect(lists('*.corp.example', 'a.b.corp.example')).toBe(true)
  for (const host of ['corp.example', '.corp.example', 'acorp.example', 'a.corp.example.evil.test'])
    expect([host, lists('*.corp.example', host)]).toEqual([host, false])
})

test('without a port a rule lists 80 and 443, with one only that', () => {
  expect([80, 443, 8080, 22].map((port) => lists('a', 'a', port))).toEqual([true, true, false, false])
  expect([80, 443, 8080, 22].map((port) => lists('a:8080', 'a', port))).toEqual([false, false, true, false])
})

test('no rule lists nothing', () => {
  expect(isListed([], { host: 'a', port: 443 })).toBe(false)
})

test('a name is listed by the rules that name it or a host above it, and by no others', () => {
  const label = fc.constantFrom('a', 'b', 'xa', 'ab')
  const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => `${labels.join('.')}.test`)
  fc.assert(
    fc.property(name, name, fc.boolean(), (host, other, isWildcard) => {
      const expected = isWildcard
        ? host !== other && host.split('.').slice(-other.split('.').length).join('.') === other
        : host === other
      expect(lists(isWildcard ? `*.${other}` : other, host)).toBe(expected)
    }),
  )
})

test.each([
  'api.internal',
  'api.internal:8443',
  '*.corp.example',
  '*.corp.example:80',
  '10.0.0.7:5432',
  '[fd00::1]',
  '[fd00::1]:443',
])('%s is written as it was read', (written) => {
  expect(formatHostRule(rule(written))).toBe(written)
})
