import { expect, it } from 'vitest'
import { isLoopback } from './loopback.ts'

it.each(['127.0.0.1', '127.0.0.2', '127.255.255.254', '::1', 'localhost'])('%s is this machine only', (host) => {
  expect(isLoopback(host)).toBe(true)
})

it.each(['0.0.0.0', '::', '', '10.0.0.1', '127.evil.example', '127.0.0.1.evil', '0x7f000001', 'localhost.evil'])(
  '"%s" may be another machine',
  (host) => {
    expect(isLoopback(host)).toBe(false)
  },
)
