import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog } from './catalog.test-kit.ts'
import { declaredExtensions } from './extensions.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const old = createCatalog([], {
  capabilities: {
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    extensions: { 'example.org/a': { by: 'old' } },
  },
})
const modern = createCatalog([], {
  era: 'modern',
  capabilities: { extensions: { 'example.org/a': { by: 'modern' }, [TASKS]: {} }, experimental: { b: {} } },
})

describe(`${promise('GW-17')} what servers declare beyond the protocol`, () => {
  it('is declared once for all of them: the first server wins', () => {
    expect(declaredExtensions([modern, old], 'modern')).toEqual({
      extensions: { 'example.org/a': { by: 'modern' }, [TASKS]: {} },
      experimental: { b: {} },
    })
  })

  it('includes tasks only for clients of the server’s own era, and never a list of tasks', () => {
    expect(declaredExtensions([old, modern], 'legacy')).toEqual({
      extensions: { 'example.org/a': { by: 'old' } },
      experimental: { b: {} },
      tasks: { cancel: {}, requests: { tools: { call: {} } } },
    })
  })

  it('is empty if no server declares anything', () => {
    expect(declaredExtensions([createCatalog(['a'])], 'legacy')).toEqual({})
  })
})
