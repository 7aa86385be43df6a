import { ALLOW, type Json, type JsonObject, keptArguments, type PolicyFields, type ToolsFile } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { Catalog } from '../catalog/catalog.ts'
import { catalogueOf } from '../catalog/catalogue.test-kit.ts'
import { DEFAULT_SETTINGS, type Settings } from '../config/config.ts'
import type { RecordedCall } from './recorded-call.ts'
import { Retrial } from './retrial.ts'

const KEY = `AKIA${'IOSFODNN7EXAMPLF'}`
const PASSED = { select: 'allow', mode: 'allow', pin: 'allow', validate: 'allow', arguments: 'allow', approve: 'allow' }

const fileOf = (fields: PolicyFields): ToolsFile => ({
  path: 'new.yaml',
  entries: [{ key: 'mcp__files__weigh', line: 3, fields, lines: {} }],
  categories: new Map(),
  modePolicies: new Map(),
})

function recorded(changes: Partial<RecordedCall> = {}): RecordedCall {
  return {
    callId: 'c1',
    server: 'files',
    method: 'tools/call',
    toolName: 'mcp__files__weigh',
    principal: { user: 'ann', agent: 'codex', profile: 'default', session: 's', role: 'agent' },
    mode: 'NORMAL',
    arguments: {},
    outcome: 'allow',
    steps: PASSED,
    error: undefined,
    ...changes,
  }
}

const kept = (args: JsonObject): Json | undefined => keptArguments(args, 'redacted')

async function retry(fields: PolicyFields, changes: Partial<RecordedCall> = {}, settings: Partial<Settings> = {}) {
  const catalog = new Catalog(['files'], 'prefixed')
  catalog.put('files', catalogueOf(['weigh']))
  const options = { catalog, tools: fileOf(fields), settings: { ...DEFAULT_SETTINGS, ...settings }, environment: {} }
  const retrial = new Retrial({ ...options, check: () => ALLOW })
  return retrial.judge(recorded(changes))
}

describe('a recorded call that is decided again', () => {
  it('is decided by the given file, in the mode that was in force', async () => {
    expect(await retry({ allowedInModes: ['NORMAL'] })).toMatchObject({ outcome: 'allow' })
    expect(await retry({ allowedInModes: ['NORMAL'] }, { mode: 'ALERT' })).toMatchObject({
      outcome: 'deny',
      step: 'mode',
      rule: { file: 'new.yaml', line: 3 },
    })
    expect(await retry({ requiresApproval: true })).toMatchObject({ outcome: 'ask', rule: { line: 3 } })
    expect(await retry({ hidden: true })).toMatchObject({ outcome: 'deny', step: 'select' })
  })

  it('is decided by its arguments where its record tells them', async () => {
    const fence = { allowedPaths: ['/srv/**'] }
    expect(await retry(fence, { arguments: kept({ path: '/srv/a' }) })).toMatchObject({ outcome: 'allow' })
    expect(await retry(fence, { arguments: kept({ path: '/srv/../etc/passwd' }) })).toMatchObject({ outcome: 'deny' })
    const rules = { arguments: { fields: { to: { enum: ['ann'] } }, denyPatterns: [] } }
    expect(await retry(rules, { arguments: kept({ to: 'bob' }) })).toMatchObject({ outcome: 'deny', rule: { line: 3 } })
  })

  it('is undecided only where a rule looks at what its record does not tell', async () => {
    const long = 'word '.repeat(300)
    const fence = { allowedPaths: ['/srv/**'] }
    const args = kept({ path: '/srv/a', content: long, token: 'abc' })
    expect(await retry(fence, { arguments: args })).toMatchObject({ outcome: 'allow' })
    expect(await retry({ hidden: true, ...fence }, { arguments: undefined })).toMatchObject({ outcome: 'deny' })
    expect(await retry({}, { arguments: undefined })).toMatchObject({ outcome: 'allow' })
    const looking: readonly [PolicyFields, Json | undefined][] = [
      [fence, undefined],
      [fence, { path: 'text of 5' }],
      [fence, kept({ path: `/srv/${long}` })],
      [{ arguments: { fields: { content: { maxLength: 5_000 } }, denyPatterns: [] } }, args],
      [{ arguments: { fields: { '*': { maxLength: 5_000 } }, denyPatterns: [] } }, args],
      [{ arguments: { fields: {}, denyPatterns: ['rm -rf'] } }, args],
      [{ requiresApproval: true, unattendedPaths: ['/srv/**'] }, kept({ path: `/srv/${long}` })],
    ]
    for (const [fields, given] of looking)
      expect(await retry(fields, { arguments: given }), JSON.stringify(fields)).toMatchObject({ outcome: 'undecided' })
  })

  it('with a hidden secret is undecided where secrets are refused, unless it was refused for it', async () => {
    const secret = { arguments: kept({ text: KEY }) }
    expect(await retry({}, secret)).toMatchObject({ outcome: 'undecided' })
    expect(await retry({ secrets: 'allow' }, secret)).toMatchObject({ outcome: 'allow' })
    const refused = { ...secret, error: 'SECRET_REFUSED', steps: { ...PASSED, arguments: 'deny' } } as const
    expect(await retry({}, refused)).toMatchObject({ outcome: 'deny', step: 'arguments' })
    expect(await retry({ secrets: 'allow' }, refused)).toMatchObject({ outcome: 'allow' })
  })

  it('is held to the verdict of its schema then, and to the schema where that was not asked', async () => {
    expect(await retry({}, { steps: { ...PASSED, validate: 'deny' } })).toMatchObject({
      outcome: 'deny',
      step: 'validate',
    })
    const early = { steps: { select: 'deny' } }
    expect(await retry({}, { ...early, arguments: { a: 1 } })).toMatchObject({ outcome: 'allow' })
    expect(await retry({}, { ...early, arguments: undefined })).toMatchObject({ outcome: 'undecided' })
  })

  it('is undecided about limits, and about what is not known any more', async () => {
    expect(await retry({}, { steps: { ...PASSED, limits: 'deny' } })).toMatchObject({ outcome: 'undecided' })
    expect(await retry({}, { toolName: 'mcp__files__gone' })).toMatchObject({ outcome: 'undecided' })
    expect(await retry({}, { server: 'else' })).toMatchObject({ outcome: 'undecided' })
  })

  it('passes where rules are only watched, but not in a lockdown', async () => {
    const watched = { allowedInModes: [], enforce: false } as const
    expect(await retry(watched)).toMatchObject({ outcome: 'allow' })
    expect(await retry(watched, { mode: 'LOCKDOWN' })).toMatchObject({ outcome: 'deny' })
  })
})
