import type { PolicyFields } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { Catalog } from '../../catalog/catalog.ts'
import { EntryIndex } from '../rules/entry-index.ts'
import { findUnmatchedPatterns, isRestricting, type PatternSources } from './unmatched-patterns.ts'

interface Written {
  readonly tools?: Readonly<Record<string, PolicyFields>>
  readonly patterns?: Readonly<Record<string, PolicyFields>>
  readonly autoApprove?: readonly string[]
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly select?: readonly string[]
  readonly known?: readonly string[]
}

const HIDDEN = { hidden: true } as const
const location = { file: 'config.yaml', line: 7 }

function find({ tools = {}, patterns = {}, autoApprove = [], known = ['github', 'wiki'], ...written }: Written) {
  const catalog = new Catalog(['github', 'wiki'], 'prefixed')
  for (const server of known) catalog.put(server, createCatalog(['create_issue', 'delete_repository']))
  const entries = Object.entries(tools).map(([key, fields], at) => ({ key, fields, line: at + 1, lines: {} }))
  const index = new EntryIndex(entries, catalog.snapshot)
  const { include: includeTools, exclude: excludeTools = [], select } = written
  const settings = {
    servers: [{ id: 'github', location, includeTools, excludeTools }],
    governance: {
      patterns: Object.entries(patterns).map(([tool, fields]) => ({ tool, fields, location })),
      autoApprove: autoApprove.map((tool) => ({ tool, location })),
    },
    profiles: new Map(select && [['x', { agent: 'codex', variant: 'DEFAULT', selectedMcpTools: select, location }]]),
  } as unknown as PatternSources['settings']
  const file = { path: 'tools.yaml', entries, categories: new Map(), modePolicies: new Map() }
  const found = findUnmatchedPatterns({ catalog, settings, file, namesOf: (offer) => index.namesOf(offer) })
  return found.map(({ problem, leavesOpen }) => [problem, leavesOpen])
}

const misspelt = ['mcp_github_*', 'mcp__Github__*', 'mcp__githb__*', 'mcp__github_delete*']

describe('a restricting pattern that matches no tool', () => {
  it.each(misspelt)('is reported wherever it is written, with a guess at the intended name: %s', (pattern) => {
    const meant = expect.stringContaining(`no tool is called "${pattern}". Did you mean a name such as "`)
    expect(find({ tools: { [pattern]: HIDDEN } })).toEqual([[meant, true]])
    expect(find({ patterns: { [pattern]: { requiresApproval: true } } })).toEqual([[meant, true]])
    expect(find({ select: ['*', `!${pattern}`] })).toEqual([[meant, true]])
  })

  it('is reported in the entry of a server', () => {
    expect(find({ exclude: ['delete-*'] })).toEqual([[expect.stringContaining('"delete_repository"'), true]])
    expect(find({ exclude: ['delete_repositry'] })).toEqual([
      ['excludeTools of github: no tool is called "delete_repositry". Did you mean "delete_repository"?', true],
    ])
    expect(find({ exclude: ['drop_*'] })).toEqual([[expect.stringContaining('excludeTools of github'), false]])
    expect(find({ include: ['create_isue', 'delete_*'] })).toEqual([[expect.stringContaining('includeTools'), false]])
  })

  it('leaves nothing open if it does not restrict, or if no tool has a similar name', () => {
    expect(find({ autoApprove: ['mcp_github_*'] })).toEqual([[expect.stringContaining('auto_approve'), false]])
    expect(find({ tools: { 'mcp_github_*': { requiresApproval: false } } })).toEqual([[expect.any(String), false]])
    expect(find({ patterns: { 'mcp__*__drop_*': HIDDEN } })).toEqual([[expect.any(String), false]])
    expect(find({ select: ['githb'] })).toEqual([[expect.stringContaining('codex.DEFAULT'), false]])
  })

  it('is reported while another server is unknown, if it misspells the name of a known tool', () => {
    const known = ['github']
    for (const pattern of ['mcp_github_*', 'mcp__Github__*', 'mcp__github_delete*'])
      expect(find({ tools: { [pattern]: HIDDEN }, known })).toEqual([[expect.stringContaining(pattern), true]])
    expect(find({ select: ['*', '!mcp_github_*'], known })).toEqual([[expect.stringContaining('mcp_github_*'), true]])
    expect(find({ tools: { 'mcp__wiki__*': HIDDEN, 'wiki/read_*': HIDDEN }, select: ['wiki/x'], known })).toEqual([])
  })

  it('is not reported if it matches, if its server is unknown yet, or if its server is not configured here', () => {
    const right = ['mcp__github__*', 'github/*', 'mcp__*__delete_*', 'github_delete*', '*']
    for (const pattern of right) expect(find({ tools: { [pattern]: HIDDEN }, select: [pattern] })).toEqual([])
    expect(find({ tools: { 'mcp_github_*': HIDDEN }, known: ['wiki'] })).toEqual([])
    expect(find({ exclude: ['delete-*'], known: ['wiki'] })).toEqual([])
    expect(find({ tools: { 'mcp__database__*': HIDDEN, 'database/drop_*': HIDDEN } })).toEqual([])
  })
})

describe('an entry restricts', () => {
  it.each<PolicyFields>([HIDDEN, { requiresApproval: true }, { riskLevel: 'high' }, { forbiddenPaths: ['/x'] }])(
    'with %j',
    (fields) => expect(isRestricting(fields)).toBe(true),
  )
  it.each<PolicyFields>([{}, { hidden: false }, { requiresApproval: false }, { riskLevel: 'low' }, { note: 'x' }])(
    'not with %j',
    (fields) => expect(isRestricting(fields)).toBe(false),
  )
})
