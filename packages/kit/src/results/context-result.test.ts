import { describe, expect, expectTypeOf, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer } from '../mcp-server.ts'
import { offerResults } from '../offer-results.ts'
import { READ } from '../permission.ts'
import { connectInMemory } from '../testing/testing.ts'
import type { ToolResult } from '../tool-result.ts'
import { contextResult } from './context-result.ts'
import { readResult } from './read-result.ts'
import { createTestRoot, openTestStore } from './test-result-store.test-kit.ts'

const log = Array.from({ length: 2_000 }, (_, index) => `[INFO] request ${index} was answered`).join('\n')
const HANDLE = /r_[a-z2-7]{20}/

describe(`${promise('KIT-4')}: contextResult`, () => {
  it('preserves the arguments of a function, and small results', async () => {
    const add = contextResult('default', (one: number, other: number) => ({ sum: one + other }))
    expectTypeOf(add).toEqualTypeOf<(one: number, other: number) => Promise<{ sum: number } | ToolResult>>()
    expect(await add(1, 2)).toEqual({ sum: 3 })
    const same = { content: [] }
    expect(await contextResult('default', async () => same)()).toBe(same)
    for (const value of [0, '', false, null, [], undefined])
      expect(await contextResult('default', () => value)()).toBe(value)
  })

  it('turns a long text into a short one, and saves it', async () => {
    const store = openTestStore(createTestRoot())
    const search = contextResult('log_search', async (_query: string) => log, { store, name: 'search' })
    const text = await search('x')
    expectTypeOf(text).toBeString()
    expect(text.length).toBeLessThanOrEqual(10_000)
    const handle = HANDLE.exec(text)?.[0] ?? ''
    expect(await readResult(store, { handle, lines: '1500' })).toMatch(
      /^\[Lines 1,500 to 1,500 of 2,000\..*\]\n\[INFO\] request 1499 was/,
    )
  })

  it('turns large values into results, and returns values that JSON cannot represent unchanged', async () => {
    const rows = Array.from({ length: 900 }, (_, id) => ({ id, at: new Date(0) }))
    const result = await contextResult('sql_query', () => rows, { store: openTestStore(createTestRoot()) })()
    expect(result).toMatchObject({ content: [{ type: 'text' }, { type: 'resource_link' }] })
    const cycle: { self?: object } = {}
    cycle.self = cycle
    expect(await contextResult('default', () => cycle)()).toBe(cycle)
  })

  it('does not change errors, thrown or rejected', async () => {
    const error = new RangeError('mine')
    const thrown = contextResult('default', () => {
      throw error
    })
    await expect(thrown()).rejects.toBe(error)
    await expect(contextResult('default', () => Promise.reject(error))()).rejects.toBe(error)
  })

  it('checks its preset when it is called, not when a result is large', () => {
    expect(() => contextResult('sql_querry', () => 1)).toThrow('There is no preset "sql_querry"')
  })

  it('reports what was cut if there is no session to save it for', async () => {
    expect(await contextResult('default', () => log)()).toContain('The rest was not saved')
  })
})

function createLogServer() {
  const server = createMcpServer('logs', {
    version: '1.0.0',
    dataFolder: createTestRoot(),
    presets: { tiny: { threshold: 500 } },
  })
  server.tool('search', { description: 'Searches', permission: READ, result: 'tiny' }, () => log)
  offerResults(server)
  return server
}

describe(`${promise('KIT-4')}: the option result of a tool`, () => {
  it.each(['modern', 'legacy'] as const)(
    'saves for the calling session, and no other session can read it: %s',
    async (era) => {
      const server = createLogServer()
      const mine = await connectInMemory(server, { era, sessionId: 'mine' })
      const yours = await connectInMemory(server, { era, sessionId: 'yours' })
      const { content } = await mine.callTool('search', {})
      const text = String(content[0]?.text)
      expect(text.length).toBeLessThanOrEqual(500)
      const handle = HANDLE.exec(text)?.[0] ?? ''
      const page = await mine.callTool('sallyport_read_result', { handle, grep: 'request 1999' })
      expect(page.content[0]?.text).toContain('2000: [INFO] request 1999 was answered')
      const { contents } = await mine.readResource(`sallyport://results/${handle}`)
      expect(contents).toMatchObject([{ text: log }])
      await expect(yours.readResource(`sallyport://results/${handle}`)).rejects.toThrow('no such resource')
      const other = await yours.callTool('sallyport_read_result', { handle })
      expect(other).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('no such result') }] })
      await mine.close()
      await yours.close()
    },
  )

  it('is an error at start-up if there is no such preset', () => {
    const server = createLogServer()
    expect(() => server.tool('other', { description: 'x', permission: READ, result: 'tyni' }, () => 1)).toThrow(
      'There is no preset "tyni"',
    )
    expect(() => createMcpServer('x', { version: '1', presets: { mine: { treshold: 1 } } })).toThrow('unknown key')
  })
})
