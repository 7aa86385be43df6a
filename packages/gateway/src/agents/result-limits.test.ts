import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { REPOSITORY } from '../../../../tests/harness/run-gateway.ts'
import { ADAPTERS } from './agents.ts'

const PAGE = readFileSync(join(REPOSITORY, 'docs/agents.md'), 'utf8')
const SECTION = /### How much of a result each shows\n(.*?)\n### /s.exec(PAGE)?.[1] ?? ''
const ROWS = [...SECTION.matchAll(/^\| `([a-z-]+)` \| ([^|]*) \| ([^|]*) \| ([^|]+) \|$/gm)]

const formatLimit = ({ results }: (typeof ADAPTERS)[number]): string => {
  const { maxCharacters, maxErrorCharacters, maxLines } = results
  return [
    String(maxCharacters),
    ...(maxErrorCharacters === undefined ? [] : [`errors ${maxErrorCharacters}`]),
    ...(maxLines === undefined ? [] : [`${maxLines} lines`]),
  ].join(', ')
}

describe('how much of a result each agent shows', () => {
  it('is documented for all of them, with the source', () => {
    const documented = ROWS.map(([, id, limit = '', schema = '']) => [id, limit.trim(), schema.trim()])
    const built = ADAPTERS.filter(({ supportsMcp }) => supportsMcp).map((adapter) => [
      adapter.id,
      formatLimit(adapter),
      adapter.results.needsStructure ? 'left out' : 'listed',
    ])
    expect(documented).toEqual(built)
    for (const [, , , , source = ''] of ROWS) expect(source.trim()).not.toBe('')
  })

  it.each(ADAPTERS)('is a number that leaves room for a preview: $id', ({ results }) => {
    const { maxCharacters, maxErrorCharacters = maxCharacters } = results
    expect(maxErrorCharacters).toBeGreaterThanOrEqual(5_000)
    expect(maxCharacters).toBeGreaterThanOrEqual(maxErrorCharacters)
  })

  it('has each client name once', () => {
    const names = ADAPTERS.flatMap(({ results }) => results.clientNames)
    expect(new Set(names).size).toBe(names.length)
  })
})
