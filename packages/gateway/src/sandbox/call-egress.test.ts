import { type EgressPolicy, type HostRule, type NetworkMode, parseHostRule } from '@sallyport/core'
import { expect, it } from 'vitest'
import { CallEgress } from './call-egress.ts'

const policy = (mode: NetworkMode, ...allow: readonly string[]): EgressPolicy => ({
  mode,
  allow: allow.map((written) => parseHostRule(written) as HostRule),
})
const refused = (host: string, more: object = {}) => ({
  ...{ host, port: 443, ok: false, reason: 'it is not on the allow list', at: 0 },
  ...more,
})
const describeAll = (decisions: readonly ReturnType<typeof refused>[], by: EgressPolicy) => {
  const egress = new CallEgress({ callId: 'c', traceId: 't' })
  for (const decision of decisions) egress.addFailed(decision, by)
  return egress.describe()
}

it('describes no connection if none failed', () => {
  expect(describeAll([], policy('PROXIED'))).toBeUndefined()
})

it('names a refused host once, why, and what would allow it', () => {
  expect(describeAll([refused('api.test'), refused('api.test')], policy('PROXIED'))).toBe(
    'Connections from the sandbox failed while this call ran: api.test:443 (it is not on the allow list). The operator can allow them: add "api.test:443" to sandbox.proxied.allow in config.yaml.',
  )
})

it('names the address, too, if a name leads to one that has to be listed', () => {
  const reason = 'its address is not public (private)'
  const decision = refused('db.test', { address: '10.0.0.7', reason })
  expect(describeAll([decision], policy('FULL'))).toContain('add "10.0.0.7:443" to')
  expect(describeAll([decision], policy('PROXIED'))).toContain('add "db.test:443", "10.0.0.7:443" to')
  expect(describeAll([decision], policy('PROXIED', 'db.test'))).toContain('add "10.0.0.7:443" to')
})

it('suggests no entry where none would help', () => {
  const unresolved = describeAll([refused('gone.test', { reason: 'its name does not resolve' })], policy('FULL'))
  expect(unresolved).toMatch(/gone\.test:443 \(its name does not resolve\)\.$/)
  const closed = describeAll([refused('api.test')], policy('NONE'))
  expect(closed).toContain('In network mode NONE no host can be allowed')
  expect(closed).not.toContain('sandbox.proxied.allow')
})

it('is bounded in number and length', () => {
  const many = Array.from({ length: 10_000 }, (_, n) => refused(`${'a'.repeat(60)}.${'b'.repeat(60)}.h${n}.test`))
  const text = describeAll(many, policy('PROXIED'))
  expect(text).toContain('and 45 more')
  expect(text?.length).toBeLessThan(2_500)
})
