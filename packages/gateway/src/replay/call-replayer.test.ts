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
    label: undefined,
    arguments: {},
    outcome: 'allow',
    steps: PASSED,
    error: undefined,
    ...changes,
  }
}

const record = (args: JsonObject): Json | undefined => toRecordedArguments(args, 'redacted')

async function replay(fields: PolicyFields, changes: Partial<RecordedCall> = {}, settings: Partial<Settings> = {}) {
  const catalog = new Catalog(['files'], 'prefixed')
  catalog.put('files', createCatalog(['weigh']))
  const options = { catalog, tools: fileOf(fields), settings: { ...DEFAULT_SETTINGS, ...settings }, environment: {} }
  const replayer = new CallReplayer({ ...options, check: () => ALLOW })
  return replayer.decide(recorded(changes))
}

/** Decides with the complete arguments. Text that looks like a gap is the caller's own text here. */
async function decideWithAllArguments(fields: PolicyFields, args: JsonObject): Promise<string> {
  const entries = fileOf(fields).entries
  const { pipeline, catalog } = createTestPipeline({ catalogues: { files: createCatalog(['weigh']) }, entries })
  const call = createCall(catalog.snapshot.tool('files_weigh'), { params: { name: 'weigh', arguments: args } })
  return (await pipeline.decide(call)).outcome
}

describe('a recorded call that is decided again', () => {
  it('is decided by the given file, in the mode that was in force', async () => {
    expect(await replay({ allowedInModes: ['NORMAL'] })).toMatchObject({ outcome: 'allow' })
    expect(await replay({ allowedInModes: ['NORMAL'] }, { mode: 'ALERT' })).toMatchObject({
      outcome: 'deny',
      step: 'mode',
      rule: { file: 'new.yaml', line: 3 },
    })
    expect(await replay({ requiresApproval: true })).toMatchObject({ outcome: 'ask', rule: { line: 3 } })
    expect(await replay({ hidden: true })).toMatchObject({ outcome: 'deny', step: 'select' })
  })

  it('is decided by its arguments if its record contains them', async () => {
    const pathRule = { allowedPaths: ['/srv/**'] }
    expect(await replay(pathRule, { arguments: record({ path: '/srv/a' }) })).toMatchObject({ outcome: 'allow' })
    expect(await replay(pathRule, { arguments: record({ path: '/srv/../etc/passwd' }) })).toMatchObject({
      outcome: 'deny',
    })
    const rules = { arguments: { fields: { to: { enum: ['ann'] } }, denyPatterns: [] } }
    expect(await replay(rules, { arguments: record({ to: 'bob' }) })).toMatchObject({
      outcome: 'deny',
      rule: { line: 3 },
    })
  })

  it('is undecided only if a rule checks something that its record does not contain', async () => {
    const long = 'word '.repeat(300)
    const pathRule = { allowedPaths: ['/srv/**'] }
    const args = record({ path: '/srv/a', content: long, token: 'abc' })
    expect(await replay(pathRule, { arguments: args })).toMatchObject({ outcome: 'allow' })
    expect(await replay({ hidden: true, ...pathRule }, { arguments: undefined })).toMatchObject({ outcome: 'deny' })
    expect(await replay({}, { arguments: undefined })).toMatchObject({ outcome: 'allow' })
    const dependent: readonly [PolicyFields, Json | undefined][] = [
      [pathRule, undefined],
      [pathRule, { path: 'text of 5' }],
      [pathRule, record({ path: `/srv/${long}` })],
      [{ arguments: { fields: { content: { maxLength: 5_000 } }, denyPatterns: [] } }, args],
      [{ arguments: { fields: { '*': { maxLength: 5_000 } }, denyPatterns: [] } }, args],
      [{ arguments: { fields: {}, denyPatterns: ['rm -rf'] } }, args],
      [{ requiresApproval: true, unattendedPaths: ['/srv/**'] }, record({ path: `/srv/${long}` })],
    ]
    for (const [fields, given] of dependent)
      expect(await replay(fields, { arguments: given }), JSON.stringify(fields)).toMatchObject({ outcome: 'undecided' })
  })

  it('is undecided, or gets the same decision as with all of its arguments', async () => {
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
        const [expected, replayed] = [
          await decideWithAllArguments(lax, given),
          await replay(lax, { arguments: toRecordedArguments(given, kind) }),
        ]
        if (replayed.outcome !== 'undecided') expect(replayed.outcome).toBe(expected)
      }),
      { numRuns: 500 },
    )
  })

  it('with a hidden secret is undecided if secrets are refused, unless it was refused for the secret', async () => {
    const secret = { arguments: record({ text: KEY }) }
    expect(await replay({}, secret)).toMatchObject({ outcome: 'undecided' })
    expect(await replay({ secrets: 'allow' }, secret)).toMatchObject({ outcome: 'allow' })
    const refused = { ...secret, error: 'SECRET_REFUSED', steps: { ...PASSED, arguments: 'deny' } } as const
    expect(await replay({}, refused)).toMatchObject({ outcome: 'deny', step: 'arguments' })
    expect(await replay({ secrets: 'allow' }, refused)).toMatchObject({ outcome: 'allow' })
  })

  it('keeps the recorded verdict of its schema, and is checked against the schema if there is none', async () => {
    expect(await replay({}, { steps: { ...PASSED, validate: 'deny' } })).toMatchObject({
      outcome: 'deny',
      step: 'validate',
    })
    const early = { steps: { select: 'deny' } }
    expect(await replay({}, { ...early, arguments: { a: 1 } })).toMatchObject({ outcome: 'allow' })
    expect(await replay({}, { ...early, arguments: undefined })).toMatchObject({ outcome: 'undecided' })
  })

  it('is undecided if a limit refused it, or if its tool or server is no longer known', async () => {
    expect(await replay({}, { steps: { ...PASSED, limits: 'deny' } })).toMatchObject({ outcome: 'undecided' })
    expect(await replay({}, { toolName: 'mcp__files__gone' })).toMatchObject({ outcome: 'undecided' })
    expect(await replay({}, { server: 'else' })).toMatchObject({ outcome: 'undecided' })
  })

  it('is allowed if rules are not enforced, but not in a lockdown', async () => {
    const notEnforced = { allowedInModes: [], enforce: false } as const
    expect(await replay(notEnforced)).toMatchObject({ outcome: 'allow' })
    expect(await replay(notEnforced, { mode: 'LOCKDOWN' })).toMatchObject({ outcome: 'deny' })
  })
})
