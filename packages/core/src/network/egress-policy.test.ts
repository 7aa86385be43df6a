import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ConnectionOpening, type EgressPolicy, judgeAddress, judgeOpening, judgeTarget } from './egress-policy.ts'
import { type HostAndPort, parseHostAndPort } from './host.ts'
import { type HostRule, parseHostRule } from './host-rules.ts'
import { findAddressKind } from './ip-address.ts'
import { isWiderMode, NETWORK_MODES, type NetworkMode } from './network-mode.ts'

const policy = (mode: NetworkMode, ...allow: readonly string[]): EgressPolicy => ({
  mode,
  allow: allow.map((written) => parseHostRule(written) as HostRule),
})
const target = (written: string): HostAndPort => parseHostAndPort(written) as HostAndPort
const LISTED = ['api.test', '*.corp.test', '10.0.0.7:5432', '[fd00::1]:443', '198.51.100.9']
const NO_OWN: ReadonlySet<string> = new Set()

describe('the target', () => {
  const allows = (mode: NetworkMode, written: string): boolean =>
    judgeTarget(policy(mode, ...LISTED), target(written)).ok

  test.each([
    ['api.test:443', true, true],
    ['api.test:80', true, true],
    ['api.test:22', true, false],
    ['a.corp.test:443', true, true],
    ['corp.test:443', true, false],
    ['other.test:443', true, false],
    ['localhost:443', true, false],
    ['1.1.1.1:53', true, false],
    ['198.51.100.9:443', true, true],
    ['10.0.0.7:5432', true, true],
    ['10.0.0.7:5433', false, false],
    ['10.0.0.8:443', false, false],
    ['127.1:80', false, false],
    ['169.254.169.254:80', false, false],
    ['[::1]:443', false, false],
    ['[fd00::1]:443', true, true],
    ['[::ffff:10.0.0.7]:5432', false, false],
  ])('%s is allowed by FULL: %s, by PROXIED: %s, and never by NONE', (written, full, proxied) => {
    expect([allows('FULL', written), allows('PROXIED', written), allows('NONE', written)]).toEqual([
      full,
      proxied,
      false,
    ])
  })

  test('a mode that got past the compiler allows no target', () => {
    expect(judgeTarget(policy('OPEN' as 'FULL', ...LISTED), target('api.test:443')).ok).toBe(false)
  })

  test('the reason says which rule decided', () => {
    expect(judgeTarget(policy('NONE'), target('a.test:443')).reason).toBe('the network mode is NONE')
    expect(judgeTarget(policy('FULL'), target('a.test:443')).reason).toBe('the network mode is FULL')
    expect(judgeTarget(policy('FULL'), target('10.0.0.1:443')).reason).toBe('it is not a public address (private)')
    expect(judgeTarget(policy('PROXIED'), target('a.test:443')).reason).toBe('it is not on the allow list')
    for (const mode of ['FULL', 'PROXIED'] as const)
      expect(judgeTarget(policy(mode, '10.0.0.1'), target('10.0.0.1:443')).reason).toBe('it is on the allow list')
  })
})

describe('an address', () => {
  const judge = (written: string, own = NO_OWN) => judgeAddress(policy('PROXIED', ...LISTED), target(written), own)

  test('is allowed if it is public, or listed with this port', () => {
    expect(judge('1.1.1.1:443')).toEqual({ ok: true, reason: 'the address is public' })
    expect(judge('10.0.0.7:5432')).toEqual({ ok: true, reason: 'the address is on the allow list' })
    expect(judge('10.0.0.7:443')).toEqual({ ok: false, reason: 'its address is not public (private)' })
    expect(judge('169.254.169.254:80')).toEqual({ ok: false, reason: 'its address is not public (metadata)' })
  })

  test('of this machine is allowed only if it is listed', () => {
    const own = new Set(['198.51.100.9', '198.51.100.10'])
    expect(judge('198.51.100.9:443', own).ok).toBe(true)
    expect(judge('198.51.100.10:443', own)).toEqual({ ok: false, reason: 'its address is one of this machine' })
  })

  test('that is a name is refused, even if it is listed', () => {
    expect(judge('api.test:443')).toEqual({ ok: false, reason: 'its address is not valid' })
  })

  test('that is not public is reached in no mode and by no name rule', () => {
    const anyAddress = fc.oneof(
      fc.ipV4(),
      fc.ipV6().map((each) => `[${each}]`),
    )
    fc.assert(
      fc.property(anyAddress, fc.constantFrom(...NETWORK_MODES), (written, mode) => {
        const address = parseHostAndPort(`${written}:443`)
        fc.pre(address !== undefined && findAddressKind(address.host) !== 'public')
        expect(judgeAddress(policy(mode, 'a.test', '*.test'), address, NO_OWN).ok).toBe(false)
        expect(judgeTarget(policy(mode, 'a.test', '*.test'), address).ok).toBe(false)
      }),
    )
  })
})

describe('the first bytes', () => {
  const TLS = (serverName: string | undefined, isNameEncrypted = false): ConnectionOpening => ({
    kind: 'TLS',
    serverName,
    isNameEncrypted,
  })
  const accepts = (mode: NetworkMode, written: string, opening: ConnectionOpening): boolean =>
    judgeOpening(policy(mode, ...LISTED), target(written), opening).ok

  test.each<[string, string, ConnectionOpening, boolean, boolean]>([
    ['TLS for the target', 'api.test:443', TLS('api.test'), true, true],
    ['TLS for another host', 'api.test:443', TLS('evil.test'), false, false],
    ['TLS for another host on another port', 'api.test:8443', TLS('evil.test'), false, false],
    ['TLS without a name', 'api.test:443', TLS(undefined), true, false],
    ['TLS without a name on another port', 'api.test:8443', TLS(undefined), true, true],
    ['TLS without a name to an address', '198.51.100.9:443', TLS(undefined), true, true],
    ['TLS with a name to an address', '198.51.100.9:443', TLS('api.test'), false, false],
    ['TLS with an encrypted name', 'api.test:443', TLS('api.test', true), true, false],
    ['TLS that cannot be read', 'api.test:443', { kind: 'invalid TLS' }, false, false],
    ['TLS that cannot be read on another port', 'api.test:8443', { kind: 'invalid TLS' }, false, false],
    ['other bytes', 'api.test:443', { kind: 'other' }, true, false],
    ['other bytes to an address', '198.51.100.9:443', { kind: 'other' }, true, false],
    ['other bytes on another port', 'api.test:5432', { kind: 'other' }, true, true],
  ])('%s to %s: %j is accepted by FULL: %s, by PROXIED: %s', (_, written, opening, full, proxied) => {
    expect([accepts('FULL', written, opening), accepts('PROXIED', written, opening)]).toEqual([full, proxied])
  })
})

test('a narrower mode never allows more', () => {
  const anyMode = fc.constantFrom(...NETWORK_MODES)
  const anyTarget = fc
    .constantFrom('api.test:443', 'evil.test:443', '10.0.0.7:5432', '1.1.1.1:80', '[::1]:80')
    .map(target)
  const anyOpening = fc.constantFrom<ConnectionOpening>(
    { kind: 'other' },
    { kind: 'TLS', serverName: 'api.test', isNameEncrypted: true },
    { kind: 'TLS', serverName: undefined, isNameEncrypted: false },
  )
  fc.assert(
    fc.property(anyMode, anyMode, anyTarget, anyOpening, (mode, narrower, to, opening) => {
      fc.pre(isWiderMode(mode, narrower))
      const wide = policy(mode, ...LISTED)
      const narrow = policy(narrower, ...LISTED)
      if (judgeTarget(narrow, to).ok) expect(judgeTarget(wide, to).ok).toBe(true)
      if (judgeOpening(narrow, to, opening).ok) expect(judgeOpening(wide, to, opening).ok).toBe(true)
    }),
  )
})
