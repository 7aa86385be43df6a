import type { SallyportEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { Catalog } from '../catalog/catalog.ts'
import type { ServerCatalog, Upstream } from '../upstream/upstream.ts'
import { CounterpartLists } from './counterpart-lists.ts'

function openLists() {
  const catalog = new Catalog(['data'], 'prefixed')
  const [events, warnings]: [SallyportEvent[], string[]] = [[], []]
  const now: { state: string; isolated?: ServerCatalog } = { state: 'starting' }
  const upstream = {
    status: () => ({ state: now.state }),
    counterpart: {
      get catalog() {
        return now.isolated
      },
    },
  } as unknown as Upstream
  const lists = new CounterpartLists({
    catalog,
    find: () => upstream,
    list: (server, isolated) => void catalog.put(server, isolated),
    onWarning: (text) => void warnings.push(text),
    record: (event) => void events.push(event),
  })
  const isolatedLists = (...tools: readonly string[]): void => {
    now.isolated = createCatalog(tools)
    lists.compare('data')
  }
  const normalLists = (...tools: readonly string[]): void => {
    now.state = 'ready'
    catalog.put('data', createCatalog(tools))
    lists.normalListed('data')
  }
  const offered = () => catalog.serverCatalog('data')?.tools.map(({ name }) => name)
  return { lists, now, events, warnings, isolatedLists, normalLists, offered }
}

const drift = (missing: readonly string[]) => ({ type: 'COUNTERPART_DRIFTED', server: 'data', missing, differing: [] })

describe(`the list of an isolated instance (${promise('SEN-15')})`, () => {
  it('is reported once for each difference, and once when it is the same again', () => {
    const { events, warnings, isolatedLists, normalLists } = openLists()
    normalLists('a', 'b')
    isolatedLists('a')
    isolatedLists('a')
    normalLists('a', 'b')
    isolatedLists('b')
    isolatedLists('a', 'b')
    isolatedLists('a', 'b')
    expect(events).toEqual([drift(['b']), drift(['a']), drift([])])
    expect(warnings).toHaveLength(2)
  })

  it('is not reported if it never differed', () => {
    const { events, isolatedLists, normalLists } = openLists()
    isolatedLists('a')
    normalLists('a')
    expect(events).toEqual([])
  })

  it('is compared only once the normal instance was listed in this run, or could not be reached', () => {
    const { now, lists, events, isolatedLists, normalLists } = openLists()
    normalLists('a', 'b')
    now.state = 'starting'
    isolatedLists('a')
    expect(events).toEqual([])
    now.state = 'restarting'
    lists.compare('data')
    expect(events).toEqual([drift(['b'])])
  })

  it('is offered while the normal instance was never reached, with all its changes', () => {
    const { now, lists, events, isolatedLists, normalLists, offered } = openLists()
    isolatedLists('a')
    expect(offered()).toBeUndefined()
    now.state = 'restarting'
    lists.compare('data')
    expect(offered()).toEqual(['a'])
    isolatedLists('a', 'b')
    expect(offered()).toEqual(['a', 'b'])
    expect(events).toEqual([])
    normalLists('a', 'b', 'c')
    isolatedLists('a')
    expect(offered()).toEqual(['a', 'b', 'c'])
    expect(events).toEqual([drift(['c']), drift(['b', 'c'])])
  })

  it('is shortened in records and warnings', () => {
    const { events, warnings, isolatedLists, normalLists } = openLists()
    normalLists(...Array.from({ length: 120 }, (_, index) => `t${index}`))
    isolatedLists()
    expect(events).toMatchObject([{ missing: { length: 100 } }])
    expect(warnings).toEqual([expect.stringContaining('t9 and 110 more')])
  })
})
