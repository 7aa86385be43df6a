import { afterEach, describe, expect, it } from 'vitest'
import { Exchange } from './exchange.ts'
import { OpenExchanges } from './open-exchanges.ts'

const made: Exchange[] = []
afterEach(() => {
  for (const exchange of made.splice(0)) exchange.stop()
})

function exchangeOf(id: number): Exchange {
  const ignore = (): void => {}
  const patience = { timeout: 60_000, maximum: 60_000 }
  const request = { method: 'ping', params: {} }
  const exchange = new Exchange({ id, request, patience, resolve: ignore, reject: ignore, onLate: ignore })
  made.push(exchange)
  return exchange
}

describe('open exchanges', () => {
  it('are found by their ids, each until it is taken out', () => {
    const open = new OpenExchanges()
    const exchanges = [5, 2 ** 47, 7].map(exchangeOf)
    for (const exchange of exchanges) open.add(exchange)
    open.delete(2 ** 47)
    expect([5, 2 ** 47, 7].map((id) => open.get(id))).toEqual([exchanges[0], undefined, exchanges[2]])
    expect(open.has(2 ** 47)).toBe(false)
    open.delete(2 ** 47)
    const later = exchangeOf(9)
    open.add(later)
    expect(open.get(9)).toBe(later)
    expect(open.get(5)).toBe(exchanges[0])
    expect(open.all().map(({ id }) => id)).toEqual([5, 9, 7])
  })

  it('can be taken out while all of them are gone through', () => {
    const open = new OpenExchanges()
    for (const id of [1, 2, 3]) open.add(exchangeOf(id))
    const seen: number[] = []
    for (const { id } of open.all()) {
      seen.push(id)
      open.delete(id)
    }
    expect(seen).toEqual([1, 2, 3])
    expect(open.all()).toEqual([])
  })
})
