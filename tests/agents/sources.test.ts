import { describe, expect, it } from 'vitest'
import { findOverlay } from '../../packages/gateway/src/agents/overlays.ts'
import { ADAPTERS } from '../../packages/gateway/src/agents/registry.ts'
import type { ServerSource } from '../../packages/gateway/src/agents/server-sources.ts'
import { textOf } from '../harness/repository.ts'
import { promise } from '../promises.ts'
import { PLANTS } from './plants.ts'
import { UNPLANTED } from './unplanted.ts'

const sources = ADAPTERS.flatMap(({ id }) => (findOverlay(id)?.sources ?? []).map((source) => ({ id, source })))

const isPlanted = (id: string, { name }: ServerSource): boolean =>
  (PLANTS[id] ?? []).some(({ source }) => source === name)

const HOW = { closed: 'kept away', refused: 'not started', open: '**stays**' }

const rowOf = (id: string, source: ServerSource): string =>
  `| ${[
    `\`${id}\``,
    source.name,
    `${HOW[source.state]}: ${source.mechanism}`,
    isPlanted(id, source) ? 'a planted server' : UNPLANTED[id]?.[source.name],
  ].join(' | ')} |`

describe('the sources from which agents take servers', () => {
  it.each(sources)(`$id, $source.name: a server was planted there, or there is a reason why not`, ({ id, source }) => {
    expect([isPlanted(id, source), UNPLANTED[id]?.[source.name]]).toEqual(
      isPlanted(id, source) ? [true, undefined] : [false, expect.any(String)],
    )
  })

  it('are all those in which servers are planted', () => {
    const known = new Set(sources.map(({ id, source }) => `${id}/${source.name}`))
    const named = [
      ...Object.entries(PLANTS).flatMap(([id, plants]) => plants.map(({ source }) => `${id}/${source}`)),
      ...Object.entries(UNPLANTED).flatMap(([id, whys]) => Object.keys(whys).map((source) => `${id}/${source}`)),
    ]
    expect(named.filter((one) => !known.has(one))).toEqual([])
  })

  it(`${promise('AG-16')} are in the docs, each with what a run does about it`, () => {
    const documented = textOf('docs/agents.md').match(
      /^\| `[\w-]+` \| .+ \| (kept away|not started|\*\*stays\*\*): .+ \|$/gm,
    )
    expect(documented).toEqual(sources.map(({ id, source }) => rowOf(id, source)))
  })
})
