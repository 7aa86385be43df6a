import type { Era, JsonObject, PolicyFields } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { CatalogueShelf } from '../catalog/catalog.ts'
import { catalogueOf, tool } from '../catalog/catalogue.test-kit.ts'
import { RETURN_ALL, type ReturnRules } from '../isolation/isolation.ts'
import { stdioConfig } from '../upstream/stdio/stdio.test-kit.ts'
import type { ServerCatalogue } from '../upstream/upstream.ts'
import { ANN, createBench } from './pipeline.test-kit.ts'

const OFFERED = catalogueOf([], {
  era: 'modern',
  tools: [
    tool('plain', { description: 'It reads.' }),
    tool('typed', { outputSchema: { type: 'array' } }),
    { inputSchema: { type: 'object' }, name: 'named last' },
  ] as ServerCatalogue['tools'],
})

/** The same as a start finds it. */
function kept(catalogue: ServerCatalogue): ServerCatalogue {
  const texts: string[] = []
  const shelf = new CatalogueShelf({ load: () => texts[0], save: (_server, _source, now) => void texts.push(now) })
  shelf.save(stdioConfig(), catalogue)
  return shelf.load(stdioConfig()) as ServerCatalogue
}

interface Shown {
  readonly fields?: PolicyFields
  readonly returns?: Partial<ReturnRules>
  readonly pinned?: JsonObject
}

function listOf(catalogue: ServerCatalogue, era: Era, { fields = {}, returns = {}, pinned }: Shown): string {
  const entries = OFFERED.tools.map(({ name }) => ({ key: `mcp__files__${name}`, line: 1, fields, lines: {} }))
  const { listings } = createBench({
    ...{ catalogues: { files: catalogue }, entries, pinned: () => pinned },
    returnsOf: () => ({ ...RETURN_ALL, ...returns }),
  })
  return listings.prepared('tools/list', ANN, era).map(String).join('')
}

describe('a list of tools that were kept', () => {
  const plan = { strategy: 'bounded' } as unknown as ReturnRules['plan']
  const ways: Readonly<Record<string, Shown>> = {
    'nobody has rules for': {},
    'are described otherwise': { fields: { descriptionOverride: 'Ours.' } },
    'changed since they were reviewed': { fields: { pin: 'sha256-other' }, pinned: { description: 'Reviewed.' } },
    'changed, and nobody knows from what': { fields: { pin: 'sha256-other' } },
    'take an intent': { returns: { takesIntent: true, plan } },
    'return less than they promise': { returns: { mayCut: true } },
    'are hidden': { fields: { hidden: true } },
  }
  for (const [way, shown] of Object.entries(ways))
    it(`shows those that ${way} as a list of tools that were just heard of does`, () => {
      for (const era of ['legacy', 'modern'] as const)
        expect(listOf(kept(OFFERED), era, shown)).toBe(listOf(OFFERED, era, shown))
    })
})
