import {
  ALLOW,
  type Json,
  type JsonObject,
  type ParsedToolsFile,
  type PolicyFields,
  toRecordedArguments,
} from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { Catalog } from '../catalog/catalog.ts'
import { DEFAULT_SETTINGS, type Settings } from '../config/config.ts'
import { createCall, createTestPipeline } from '../pipeline/pipeline.test-kit.ts'
import { CallReplayer } from './call-replayer.ts'
import type { RecordedCall } from './recorded-call.ts'

const KEY = `AKIA${'IOSFODNN7EXAMPLF'}`
const PASSED = { select: 'allow', mode: 'allow', pin: 'allow', validate: 'allow', arguments: 'allow', approve: 'allow' }

const fileOf = (fields: PolicyFields): ParsedToolsFile => ({
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

const kept = (args: JsonObject): Json | undefined => toRecordedArguments(args, 'redacted')

async function retry(fields: PolicyFields, changes: Partial<RecordedCall> = {}, settings: Partial<Settings> = {}) {
  const catalog = new Catalog(['files'], 'prefixed')
  catalog.put('files', createCatalog(['weigh']))
  const options = { catalog, tools: fileOf(fields), settings: { ...DEFAULT_SETTINGS, ...settings }, environment: {} }
  const retrial = new CallReplayer({ ...options, check: () => ALLOW })
  return retrial.decide(recorded(changes))
}

/** By the rules themselves, with nothing between: what looks like a gap is one of the caller's own words here. */
async function judgeWhole(fields: PolicyFields, args: JsonObject): Promise<string> {
  const entries = fileOf(fields).entries
  const { pipeline, catalog } = createTestPipeline({ catalogues: { files: createCatalog(['weigh']) }, entries })
  const call = createCall(catalog.snapshot.tool('files_weigh'), { params: { name: 'weigh', arguments: args } })
  return (await pipeline.decide(call)).outcome
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

  it('is never decided otherwise than with all of its arguments', async () => {
    const text = fc.oneof(
      fc.constantFrom('/srv/a', '/srv/../etc/b', 'ann', 'bob', '', 'x'.repeat(600), `/srv/${'y/'.repeat(400)}`),
      fc.constantFrom(`ann ${'word '.repeat(200)} rm -rf`, 'text of 3', 'number', '[cut: 5 characters in all]'),
    )
    const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null))
    const name = fc.constantFrom('path', 'to', 'token', 'content', 'deep', 'password', 'n'.repeat(150))
    const { args } = fc.letrec<{ value: Json; args: JsonObject }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        leaf,
        tie('args'),
        fc.array(tie('value'), { maxLength: 3 }),
      ) as fc.Arbitrary<Json>,
      args: fc.dictionary(name, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>,
    }))
    const fields = fc.constantFrom('to', 'content', 'deep.to', 'deep.*', '*', 'token', 'path')
    const rule = fc.constantFrom(
      { enum: ['ann', '/srv/a'] },
      { forbidden: true },
      { required: true },
      { maxLength: 40 },
    )
    const policy: fc.Arbitrary<PolicyFields> = fc.oneof(
      fc.record({ allowedPaths: fc.constant(['/srv/**']), requiresApproval: fc.boolean() }),
      fc.record({ unattendedPaths: fc.constant(['/srv/**']), requiresApproval: fc.boolean() }),
      fc.record({ arguments: fc.record({ fields: fc.dictionary(fields, rule), denyPatterns: fc.constant([]) }) }),
      fc.record({ arguments: fc.record({ fields: fc.constant({}), denyPatterns: fc.constant(['rm -rf', 'bob']) }) }),
    )
    const how = fc.constantFrom('none' as const, 'shape' as const, 'redacted' as const)
    await fc.assert(
      fc.asyncProperty(args, policy, how, async (given, rules, kind) => {
        const lax = { ...rules, secrets: 'allow' } as const
        const [truth, told] = [
          await judgeWhole(lax, given),
          await retry(lax, { arguments: toRecordedArguments(given, kind) }),
        ]
        if (told.outcome !== 'undecided') expect(told.outcome).toBe(truth)
      }),
      { numRuns: 500 },
    )
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
