import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Json, JsonObject } from '../json/json-value.ts'
import { NAMED_RISKS } from '../named-risks.test-kit.ts'
import { RISK_LEVELS } from '../policy/tools-file.ts'
import type { Finding, FindingKind } from './finding.ts'
import { inferRisk } from './risk.ts'
import { RISK_TOKENS, type RiskTokens } from './risk-tokens.ts'

interface Given {
  readonly name: string
  readonly rest?: JsonObject
  readonly properties?: JsonObject
  readonly findings?: readonly Finding[]
  readonly tokens?: RiskTokens
}

const infer = ({ name, rest = {}, properties = {}, findings = [], tokens = RISK_TOKENS }: Given) =>
  inferRisk({ name, inputSchema: { type: 'object', properties }, ...rest }, { tokens, findings })

const riskOf = (given: Given): string => {
  const { level, reason } = infer(given)
  return `${level}: ${reason}`
}

const rankOf = (given: Given): number => RISK_LEVELS.indexOf(infer(given).level)

describe(`${promise('GOV-6')} the risk of a name`, () => {
  it.each([
    ...['write', 'delete', 'remove', 'destroy', 'drop', 'truncate', 'execute', 'exec', 'run', 'eval', 'bash', 'shell'],
    ...['send', 'post', 'create', 'update', 'modify', 'set', 'put', 'patch', 'apply', 'merge', 'replace', 'transfer'],
    ...['pay', 'publish', 'deploy', 'kill', 'reset', 'purge', 'clear', 'archive', 'grant', 'revoke', 'approve'],
  ])('is high for "%s"', (verb) => {
    for (const name of [verb, `${verb}_thing`, `thing_${verb}`, `${verb.toUpperCase()}-THING`, `my.${verb}.thing`])
      expect(riskOf({ name })).toBe(`high: "${verb}"`)
  })

  it.each(['read', 'get', 'list', 'search', 'query', 'view', 'show', 'fetch', 'find', 'describe', 'count', 'lookup'])(
    'is low for "%s"',
    (verb) => {
      for (const name of [verb, `${verb}_thing`, `thing_${verb}`, `${verb}Thing`])
        expect(riskOf({ name })).toBe(`low: "${verb}"`)
      expect(riskOf({ name: `${verb}_and_delete` })).toBe('high: "delete"')
    },
  )

  it.each([
    ['thread_archive', 'high: "archive"'],
    ['widget_reset', 'high: "reset"'],
    ['budget_transfer', 'high: "transfer"'],
    ['playlist_purge', 'high: "purge"'],
    ['spreadsheet_clear', 'high: "clear"'],
    ['review_approve_and_merge', 'high: "approve"'],
    ['get_or_create', 'high: "create"'],
    ['search_and_replace', 'high: "replace"'],
    ['run_sql', 'high: "run"'],
    ['bash', 'high: "bash"'],
    ['kubectl_apply', 'high: "apply"'],
    ['transfer_funds', 'high: "transfer"'],
    ['mcp-exec', 'high: "exec"'],
    ['drop_table', 'high: "drop"'],
    ['list_updates', 'low: "list"'],
    ['get_created_at', 'low: "get"'],
    ['list_senders', 'low: "list"'],
    ['get_post', 'low: "get"'],
    ['list_runs', 'low: "list"'],
    ['search_archive', 'low: "search"'],
  ])('is not misled by %s', (name, expected) => {
    expect(riskOf({ name })).toBe(expected)
  })

  it.each(NAMED_RISKS)('of %s is %s, since %s', (name, level, reason) => {
    expect(infer({ name })).toEqual({ level, reason })
  })

  it.each([
    ['get_run', 'low'],
    ['get_or_run', 'high'],
    ['get_then_update', 'high'],
    ['list_posts_and_runs', 'low'],
    ['list_deletes', 'low'],
    ['get_deleting', 'low'],
    ['get_delete', 'high'],
    ['my_get_post', 'low'],
    ['my_list_post', 'high'],
    ['run_get', 'high'],
  ])('of %s, with a word that may be a noun or a form, is %s', (name, level) => {
    expect(infer({ name }).level).toBe(level)
  })

  it.each([
    ['ｇｅｔ_file', 'medium: "get", but letters other than a-z'],
    ['gеt_file', 'medium: "get", but letters other than a-z'],
    ['get\u200b_file', 'medium: "get", but letters other than a-z'],
    ['ｄｅｌｅｔｅ_file', 'high: "delete"'],
    ['dеlеte_file', 'high: "delete"'],
    ['del\u00adete', 'high: "delete"'],
    ['получить', 'medium: no known verb'],
    ['list_删除', 'medium: "list", but letters other than a-z'],
  ])('is never low because of lookalike letters: %s', (name, expected) => {
    expect(riskOf({ name })).toBe(expected)
  })

  it('uses the lists of the operator', () => {
    const tokens = { high: ['frobnicate', 'tickle'], low: ['ponder'], nouns: ['tickle'] }
    expect(riskOf({ name: 'frobnicate', tokens })).toBe('high: "frobnicate"')
    expect(riskOf({ name: 'frobnicating_x', tokens })).toBe('high: "frobnicating"')
    expect(riskOf({ name: 'ponder_tickle', tokens })).toBe('low: "ponder"')
    expect(riskOf({ name: 'delete', tokens })).toBe('medium: no known verb')
  })
})

describe('annotations', () => {
  it.each<[string, JsonObject, string]>([
    ['get_x', { destructiveHint: true }, 'high: "get", but destructiveHint'],
    ['get_x', { readOnlyHint: true, destructiveHint: true }, 'high: "get", but destructiveHint'],
    ['get_x', { destructiveHint: 'true' }, 'high: "get", but destructiveHint'],
    ['get_x', { readOnlyHint: false }, 'medium: "get", but readOnlyHint: false'],
    ['get_x', { readOnlyHint: false, destructiveHint: false }, 'medium: "get", but readOnlyHint: false'],
    ['get_x', { readOnlyHint: true, openWorldHint: true, idempotentHint: false }, 'low: "get"'],
    ['thing', { destructiveHint: true }, 'high: no known verb, but destructiveHint'],
    ['thing', { readOnlyHint: true, destructiveHint: false }, 'medium: no known verb'],
    ['delete_x', { readOnlyHint: true, destructiveHint: false }, 'high: "delete"'],
    ['get_x', { title: 'Delete a thing' }, 'high: "get", but title "delete"'],
    ['get_post', { title: 'Post details' }, 'low: "get"'],
  ])('of %s with %j make the risk %s', (name, annotations, expected) => {
    expect(riskOf({ name, rest: { annotations } })).toBe(expected)
  })

  it.each<Json>([null, [], 'destructive', 7, { destructiveHint: null, title: { a: 1 } }])(
    'may be anything: %j',
    (annotations) => {
      expect(riskOf({ name: 'get_x', rest: { annotations } })).toBe('low: "get"')
    },
  )

  it('count together with the title and a declaration', () => {
    expect(riskOf({ name: 'get_x', rest: { title: 'Remove it' } })).toBe('high: "get", but title "remove"')
    const declared = { _meta: { 'sallyport/permission': ['READ', 'WRITE'] } }
    expect(riskOf({ name: 'get_x', rest: declared })).toBe('medium: "get", but declared WRITE')
  })
})

describe('the input schema', () => {
  it.each<[string, JsonObject, string]>([
    ['query', { sql: { type: 'string' } }, 'medium: "query", but parameter "sql"'],
    ['query', { rawSQL: {} }, 'medium: "query", but parameter "sql"'],
    ['get_x', { command: {} }, 'medium: "get", but parameter "command"'],
    ['get_x', { shell_command: {} }, 'medium: "get", but parameter "shell"'],
    ['search', { code: { type: 'string' } }, 'medium: "search", but parameter "code"'],
    ['search', { country_code: { type: 'string' } }, 'low: "search"'],
    ['get_transcript', { transcript: {} }, 'low: "get"'],
    ['get_x', { delete: { type: 'boolean' } }, 'medium: "get", but parameter "delete"'],
    ['get_x', { createIfMissing: { type: ['boolean', 'null'] } }, 'medium: "get", but parameter "create"'],
    ['list_x', { include_deleted: { type: 'boolean' }, includeArchived: { type: 'boolean' } }, 'low: "list"'],
    ['list_x', { include_comment: { type: 'boolean' } }, 'low: "list"'],
    ['get_x', { update: { type: 'string' } }, 'low: "get"'],
    ['get_x', { method: { enum: ['GET', 'DELETE'] } }, 'high: "get", but a parameter can be "delete"'],
    ['git_branch', { mode: { enum: ['list', 'delete'] } }, 'high: no known verb, but a parameter can be "delete"'],
    [
      'thing',
      { action: { anyOf: [{ const: 'show' }, { const: 'drop' }] } },
      'high: no known verb, but a parameter can be "drop"',
    ],
    ['thing', { op: { items: { enum: ['list', 'drop'] } } }, 'high: no known verb, but a parameter can be "drop"'],
    ['kubectl', { command: {} }, 'high: no known verb, but parameter "command"'],
    ['postgres', { sql: {} }, 'high: no known verb, but parameter "sql"'],
    ['calculate', { expression: {} }, 'medium: no known verb'],
    ['country_facts', { code: {} }, 'medium: no known verb'],
    ['scrape', { mode: { enum: ['fast', 'deep'] } }, 'medium: no known verb'],
    ['get_image', { mode: { enum: ['fill', 'fit'] } }, 'low: "get"'],
    ['thing', { action: { enum: ['show', 'create'] } }, 'high: no known verb, but a parameter can be "create"'],
    ['get_x', { operation: { const: 'run_workflow' } }, 'high: "get", but a parameter can be "run"'],
    ['get_x', { method: { enum: ['get_workflow_run', 'download_run', 7, null] } }, 'low: "get"'],
    ['get_x', { sort: { enum: ['created', 'updated', 'update'] } }, 'low: "get"'],
    ['get_x', { options: { type: 'object', properties: { sql: {} } } }, 'medium: "get", but parameter "sql"'],
    [
      'get_x',
      { many: { items: { anyOf: [{ properties: { script: {} } }] } } },
      'medium: "get", but parameter "script"',
    ],
    ['delete_x', { sql: {} }, 'high: "delete"'],
    ['run_sql', { sql: {} }, 'high: "run"'],
  ])('of %s with %j makes the risk %s', (name, properties, expected) => {
    expect(riskOf({ name, properties })).toBe(expected)
  })

  it('is searched for choices behind references too', () => {
    const inputSchema = {
      properties: { action: { $ref: '#/$defs/Action' } },
      $defs: { Action: { enum: ['show', 'drop'] } },
    }
    const { level, reason } = inferRisk({ name: 'thing', inputSchema }, { tokens: RISK_TOKENS, findings: [] })
    expect([level, reason]).toEqual(['high', 'no known verb, but a parameter can be "drop"'])
  })

  it('may be arbitrarily deep, and of any type', () => {
    let deep: JsonObject = { properties: { sql: {} } }
    for (let level = 0; level < 50_000; level++) deep = { properties: { a: deep } }
    expect(riskOf({ name: 'get_x', properties: { deep } })).toBe('medium: "get", but parameter "sql"')
    for (const inputSchema of [null, 'x', [], { properties: [] }, { properties: { a: null } }])
      expect(riskOf({ name: 'get_x', rest: { inputSchema: inputSchema as JsonObject } })).toBe('low: "get"')
  })
})

describe('a finding of poisoning', () => {
  const finding = (kind: FindingKind): Finding => ({ kind, where: 'description', text: 'x' })

  it.each<[string, FindingKind, string]>([
    ['get_x', 'hidden', 'high: "get", but hidden characters'],
    ['get_x', 'instruction', 'high: "get", but instructions to the model'],
    ['get_x', 'remote-ref', 'medium: "get", but a remote $ref'],
    ['thing', 'other-tool', 'high: no known verb, but another server’s tool in its text'],
    ['delete_x', 'remote-ref', 'high: "delete", and a remote $ref'],
    ['get_x', 'padding', 'high: "get", but text pushed out of view'],
    ['get_x', 'comment', 'high: "get", but text in hidden markup'],
    ['get_x', 'encoded', 'high: "get", but encoded text'],
    ['get_x', 'exfiltration', 'high: "get", but a URL that sends data out'],
    ['get_x', 'parameter', 'high: "get", but a parameter that asks for secrets'],
    ['get_x', 'preference', 'medium: "get", but text that promotes it over other tools'],
    ['get_x', 'other-tool', 'medium: "get", but another server’s tool in its text'],
  ])('raises %s for %s: %s', (name, kind, expected) => {
    expect(riskOf({ name, findings: [finding(kind), finding('hidden')] })).toBe(expected)
  })

  it('does not raise the risk if it is about the schema or the share, and hides no other finding', () => {
    for (const kind of ['schema', 'share'] as const) {
      expect(riskOf({ name: 'get_x', findings: [finding(kind)] })).toBe('low: "get"')
      expect(riskOf({ name: 'get_x', findings: [finding(kind), finding('hidden')] })).toBe(
        'high: "get", but hidden characters',
      )
    }
  })

  it('raises the risk further than the schema does', () => {
    const given = { name: 'query', properties: { sql: {} }, findings: [finding('hidden')] }
    expect(riskOf(given)).toBe('high: "query", but hidden characters')
  })
})

describe('whatever a server says', () => {
  const word = fc.constantFrom<string>(
    'get',
    'list',
    'post',
    'run',
    'thing',
    'updates',
    'and',
    'or',
    'created',
    'x',
    'deleting',
  )
  const name = fc.array(word, { minLength: 1, maxLength: 5 })
  const hint = fc.constantFrom<Json>(true, false, null, 'true', 'false', 0, 1)
  const annotations = fc.dictionary(fc.constantFrom('readOnlyHint', 'destructiveHint', 'openWorldHint', 'title'), hint)

  it('annotations never lower a risk', () => {
    fc.assert(
      fc.property(name, annotations, (words, given) => {
        const plain = { name: words.join('_') }
        expect(rankOf({ ...plain, rest: { annotations: given } })).toBeGreaterThanOrEqual(rankOf(plain))
      }),
    )
  })

  it('one more action word never lowers a risk, at any position', () => {
    fc.assert(
      fc.property(name, fc.constantFrom(...RISK_TOKENS.high), fc.nat(5), (words, verb, place) => {
        const more = words.toSpliced(place, 0, verb)
        expect(rankOf({ name: more.join('_') })).toBeGreaterThanOrEqual(rankOf({ name: words.join('_') }))
      }),
    )
  })

  it('the result is deterministic and one line without text of the server', () => {
    const tool = fc.record({
      name: fc.string({ unit: 'binary' }),
      rest: fc.dictionary(
        fc.string().filter((key) => key !== 'name'),
        fc.jsonValue(),
      ),
    })
    fc.assert(
      fc.property(tool, ({ name, rest }) => {
        const given = { name, rest: rest as JsonObject }
        expect(infer(given)).toEqual(infer(given))
        expect(infer(given).reason).toMatch(/^("[a-z]+"|no known verb)(, (but|and) [\w ’$:"-]+)?$/)
      }),
    )
  })
})
