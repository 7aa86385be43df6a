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
  it('is declared once for all of them: the first server’s word counts', () => {
    expect(declaredExtensions([modern, old], 'modern')).toEqual({
      extensions: { 'example.org/a': { by: 'modern' }, [TASKS]: {} },
      experimental: { b: {} },
    })
  })

  it('holds tasks for clients of the server’s own era only, and no list of them', () => {
    expect(declaredExtensions([old, modern], 'legacy')).toEqual({
      extensions: { 'example.org/a': { by: 'old' } },
      experimental: { b: {} },
      tasks: { cancel: {}, requests: { tools: { call: {} } } },
    })
  })

  it('is nothing where no server declares anything', () => {
    expect(declaredExtensions([createCatalog(['a'])], 'legacy')).toEqual({})
  })
})
