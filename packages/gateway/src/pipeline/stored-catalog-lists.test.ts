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

/** The same as a start finds it. */
function kept(catalogue: ServerCatalog): ServerCatalog {
  const texts: string[] = []
  const shelf = new LastKnownCatalogs({ load: () => texts[0], save: (_server, _source, now) => void texts.push(now) })
  shelf.save(stdioConfig(), catalogue)
  return shelf.load(stdioConfig()) as ServerCatalog
}

interface Shown {
  readonly fields?: PolicyFields
  readonly returns?: Partial<ShapingRules>
  readonly pinned?: JsonObject
}

function listOf(catalogue: ServerCatalog, era: Era, { fields = {}, returns = {}, pinned }: Shown): string {
  const entries = OFFERED.tools.map(({ name }) => ({ key: `mcp__files__${name}`, line: 1, fields, lines: {} }))
  const { listings } = createTestPipeline({
    ...{ catalogues: { files: catalogue }, entries, loadPinned: () => pinned },
    shapingOf: () => ({ ...UNSHAPED, ...returns }),
  })
  return listings.renderList('tools/list', ANN, era).map(String).join('')
}

describe('a list of tools that were kept', () => {
  const plan = { strategy: 'bounded' } as unknown as ShapingRules['plan']
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
