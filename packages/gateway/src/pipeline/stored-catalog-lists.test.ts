import type { Era, JsonObject, PolicyFields } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { createCatalog, tool } from '../catalog/catalog.test-kit.ts'
import { LastKnownCatalogs } from '../catalog/catalog.ts'
import { type ShapingRules, UNSHAPED } from '../isolation/isolation.ts'
import { stdioConfig } from '../upstream/stdio/stdio.test-kit.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { ANN, createTestPipeline } from './pipeline.test-kit.ts'

const OFFERED = createCatalog([], {
  era: 'modern',
  tools: [
    tool('plain', { description: 'It reads.' }),
    tool('typed', { outputSchema: { type: 'array' } }),
    { inputSchema: { type: 'object' }, name: 'named last' },
  ] as ServerCatalog['tools'],
})

/** The same catalog after it was stored and loaded. */
function storeAndLoad(catalog: ServerCatalog): ServerCatalog {
  const texts: string[] = []
  const stored = new LastKnownCatalogs({ load: () => texts[0], save: (_server, _source, now) => void texts.push(now) })
  stored.save(stdioConfig(), catalog)
  return stored.load(stdioConfig()) as ServerCatalog
}

interface Shown {
  readonly fields?: PolicyFields
  readonly returns?: Partial<ShapingRules>
  readonly pinned?: JsonObject
}

function listOf(catalog: ServerCatalog, era: Era, { fields = {}, returns = {}, pinned }: Shown): string {
  const entries = OFFERED.tools.map(({ name }) => ({ key: `mcp__files__${name}`, line: 1, fields, lines: {} }))
  const { listings } = createTestPipeline({
    ...{ catalogues: { files: catalog }, entries, loadPinned: () => pinned },
    shapingOf: () => ({ ...UNSHAPED, ...returns }),
  })
  return listings.renderList('tools/list', ANN, { era }).map(String).join('')
}

describe('a list from a stored catalog', () => {
  const plan = { strategy: 'bounded' } as unknown as ShapingRules['plan']
  const ways: Readonly<Record<string, Shown>> = {
    'have no rules': {},
    'have another description': { fields: { descriptionOverride: 'Ours.' } },
    'changed after their review': { fields: { pin: 'sha256-other' }, pinned: { description: 'Reviewed.' } },
    'changed, without a stored definition': { fields: { pin: 'sha256-other' } },
    'take an intent': { returns: { takesIntent: true, plan } },
    'may return shortened results': { returns: { mayCut: true } },
    'are hidden': { fields: { hidden: true } },
  }
  for (const [way, shown] of Object.entries(ways))
    it(`shows tools that ${way} like a list from a new catalog`, () => {
      for (const era of ['legacy', 'modern'] as const)
        expect(listOf(storeAndLoad(OFFERED), era, shown)).toBe(listOf(OFFERED, era, shown))
    })
})
