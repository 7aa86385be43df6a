import { expect, it } from 'vitest'
import { isPrintableName } from './printable-name.ts'

it.each(['ada', 'ada@example.com', '../../evil', 'Zoë Å', '用户', 'a b', 'x'.repeat(256)])(
  'accepts %j as data',
  (text) => {
    expect(isPrintableName(text)).toBe(true)
  },
)

it.each([
  '',
  ' ',
  'x'.repeat(257),
  'a\nb',
  'a\u0000',
  'a\u0085b',
  'a\u2028b',
  'a\u202eb',
  '\ud800',
  7,
  null,
  undefined,
  ['ada'],
])('refuses %j', (value) => {
  expect(isPrintableName(value)).toBe(false)
})
