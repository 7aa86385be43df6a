import type { SallyportEvent } from '@sallyport/core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { CredentialFailures } from './credential-failures.ts'

function open() {
  vi.useFakeTimers()
  const reported: SallyportEvent[] = []
  const failures = new CredentialFailures({ report: (event) => reported.push(event) })
  onTestFinished(() => {
    failures.close()
    vi.useRealTimers()
  })
  return { failures, reported }
}

const refused = (source: string, kinds: Record<string, number>) => ({
  type: 'CREDENTIALS_REFUSED',
  source,
  kinds,
  count: Object.values(kinds).reduce((sum, of) => sum + of, 0),
})

describe('refused credentials', () => {
  it('are reported immediately, then once a minute with their number, however many there are', () => {
    const { failures, reported } = open()
    for (let sent = 0; sent < 1_100; sent++) failures.count('127.0.0.1', 'token')
    for (let sent = 0; sent < 400; sent++) failures.count('127.0.0.1', 'signature')
    expect(reported).toEqual([refused('loopback', { token: 1 })])
    vi.advanceTimersByTime(60_000)
    expect(reported.slice(1)).toEqual([refused('loopback', { token: 1_099, signature: 400 })])
    failures.count('::1', 'cookie')
    expect(reported).toHaveLength(2)
    vi.advanceTimersByTime(60_000)
    expect(reported.slice(2)).toEqual([refused('loopback', { cookie: 1 })])
    vi.advanceTimersByTime(600_000)
    expect(reported).toHaveLength(3)
    expect(failures.totals).toEqual({ token: 1_100, signature: 400, login: 0, cookie: 1 })
  })

  it('that were not reported yet are reported when the gateway stops', () => {
    const { failures, reported } = open()
    for (let sent = 0; sent < 3; sent++) failures.count('10.0.0.1', 'login')
    failures.close()
    expect(reported).toEqual([refused('10.0.0.1', { login: 1 }), refused('10.0.0.1', { login: 2 })])
  })

  it.each([
    ['127.3.2.1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, 'socket'],
  ])('of %s belong to %s', (address, source) => {
    const { failures, reported } = open()
    failures.count(address, 'token')
    expect(reported).toEqual([refused(source, { token: 1 })])
  })

  it('from many new addresses fill neither the memory nor the log', () => {
    const { failures, reported } = open()
    for (let sent = 0; sent < 100_000; sent++)
      failures.count(`10.${sent >> 16}.${(sent >> 8) & 255}.${sent & 255}`, 'token')
    expect(reported).toHaveLength(65)
    vi.advanceTimersByTime(60_000)
    expect(reported.slice(65)).toEqual([refused('others', { token: 100_000 - 65 })])
  })

  it('are answered immediately ten times, then with a delay, and with another error if too many wait', async () => {
    const { failures } = open()
    for (let sent = 0; sent < 10; sent++) expect(await failures.penalize('127.0.0.1', 'token')).toBeUndefined()
    const answered: unknown[] = []
    for (let sent = 0; sent < 100; sent++)
      void failures.penalize('127.0.0.1', 'token').then((error) => answered.push(error))
    await vi.advanceTimersByTimeAsync(999)
    expect(answered).toEqual([])
    expect(await failures.penalize('127.0.0.1', 'token')).toMatchObject({ code: 'RATE_LIMITED' })
    await vi.advanceTimersByTimeAsync(1)
    expect(answered).toEqual(Array.from({ length: 100 }))
    expect(await failures.penalize('10.0.0.1', 'token')).toBeUndefined()
  })

  it('that wait for their answer get it when the gateway stops', async () => {
    const { failures } = open()
    for (let sent = 0; sent < 10; sent++) failures.count('127.0.0.1', 'token')
    const late = failures.penalize('127.0.0.1', 'token')
    failures.close()
    expect(await late).toBeUndefined()
  })
})
