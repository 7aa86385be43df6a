import type { JsonObject, SallyportEvent, ToolDefinition, ToolEntry } from '@sallyport/core'
import { expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { Catalog } from '../../catalog/catalog.ts'
import { DEFAULT_SETTINGS } from '../../config/config.ts'
import { EntryQuota, OfferRegistry, REMOTE_PATH_CONTEXT } from '../../governance/governance.ts'
import { ActiveRules, OfferInspection, ToolDiscovery } from '../pipeline.ts'
import { findUnknownIsolatedTools } from './unmatched-patterns.ts'

const TOOL = 'mcp__wiki__read_page'

interface TestDiscoveryOptions {
  readonly isolatedTools?: readonly string[]
  readonly findSchemaProblem?: (schema: JsonObject) => string | undefined
  readonly now?: () => number
}

function createTestDiscovery(entry?: ToolEntry['fields'], options: TestDiscoveryOptions = {}) {
  const { isolatedTools = [], findSchemaProblem = () => undefined, now = () => 0 } = options
  const catalog = new Catalog(['wiki'], 'prefixed')
  const known = new OfferRegistry({ load: () => [], save: () => true })
  const entries: readonly ToolEntry[] = entry ? [{ key: TOOL, fields: entry, line: 1, lines: {} }] : []
  const rules = new ActiveRules({
    catalog,
    file: () => ({ path: 'tools.yaml', entries, categories: new Map(), modePolicies: new Map() }),
    settings: () => DEFAULT_SETTINGS.governance,
    mode: () => ({ mode: 'NORMAL' }),
    isTrusted: () => false,
    isDockerGateway: () => false,
    fileProblem: () => undefined,
    worldOf: () => REMOTE_PATH_CONTEXT,
    known,
  })
  const stored = new Map<string, string>()
  const events: SallyportEvent[] = []
  const warnings: string[] = []
  const record = (event: SallyportEvent): void => void events.push(event)
  const discovery = new ToolDiscovery({
    ...{ catalog, rules, known, record },
    inspection: new OfferInspection({ rules, known, record, findSchemaProblem, now }),
    shares: new EntryQuota({ usageOf: () => ({ entries: 0, bytes: 0 }), now: () => 0 }),
    onRemembered: () => rules.invalidate(),
    definitions: {
      load: (pin) => stored.get(pin),
      save: (_server, definitions) => {
        for (const { pin, text } of definitions) stored.set(pin, text())
      },
    },
    path: 'tools.yaml',
    append: async () => undefined,
    findUnmatched: () => [],
    findServerProblem: (id, tools) =>
      findUnknownIsolatedTools({ id, isolatedTools, location: { file: 'config.yaml', line: 3 } }, tools),
    onWarning: (text) => warnings.push(text),
    onWritten: () => undefined,
    onBug: (error) => {
      throw error
    },
    now: () => new Date(0),
  })
  const offer = (description: string): Promise<void> =>
    offerTools([{ name: 'read_page', description, inputSchema: { type: 'object' } }])
  const offerTools = async (tools: readonly ToolDefinition[]): Promise<void> => {
    catalog.put('wiki', { ...createCatalog([]), tools })
    rules.invalidate()
    discovery.enqueue('wiki')
    await discovery.flush()
  }
  return { offer, offerTools, stored, events, warnings }
}

it('a tool that never gets an entry is pinned to its first definition, and only that one is stored', async () => {
  const { offer, stored, events } = createTestDiscovery()
  for (let change = 0; change < 20; change++) await offer(`Reads a page, ${change}.`)
  expect([...stored.values()]).toEqual([expect.stringContaining('Reads a page, 0.')])
  expect(events.filter(({ type }) => type === 'DEFINITION_DRIFTED')).toHaveLength(19)
})

it('a changed definition is reported once while it lasts, and again when it comes back', async () => {
  const { offer, events } = createTestDiscovery({ pin: 'sha256-0' })
  for (const description of ['one', 'one', 'two', 'two', 'one']) await offer(description)
  expect(events.map(({ type }) => type)).toEqual(Array(3).fill('DEFINITION_DRIFTED'))
})

it('an unknown name in isolatedTools is reported once, with the name that was probably meant', async () => {
  const { offer, warnings } = createTestDiscovery(undefined, { isolatedTools: ['read_pages', 'read_page', 'rm'] })
  for (const description of ['one', 'two']) await offer(description)
  expect(warnings).toEqual([
    'isolatedTools of wiki (config.yaml:3): the server has no tool "read_pages". Did you mean "read_page"? And no "rm".',
  ])
})

it('a tool is not suspicious because the schema of another one is slow to compile; the rest is compiled with the next list', async () => {
  let time = 0
  const findSchemaProblem = ({ title }: JsonObject): string | undefined => {
    if (title === 'slow') time += 60_000
    return title === 'broken' ? 'it is broken' : undefined
  }
  const { offerTools, events } = createTestDiscovery(undefined, { findSchemaProblem, now: () => time })
  const tools = ['slow', 'sound', 'broken'].map((title) => ({
    name: `read_${title}`,
    description: 'Reads.',
    inputSchema: { type: 'object', title },
  }))
  const suspicious = () => events.flatMap((event) => (event.type === 'DEFINITION_SUSPICIOUS' ? event.tool_name : []))
  await offerTools(tools)
  expect(suspicious()).toEqual([])
  await offerTools(tools)
  expect(suspicious()).toEqual(['mcp__wiki__read_broken'])
})
