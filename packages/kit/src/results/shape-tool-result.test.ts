import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPreset } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { type Content, type ToolResult, textContent } from '../tool-result.ts'
import type { ResultStore } from './result-store.ts'
import { SHAPED_META, shapeToolResult } from './shape-tool-result.ts'
import { createTestRoot, openTestStore } from './test-result-store.test-kit.ts'

const PRESET = { ...findPreset('default'), mediaBytes: 1_000 }
const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: `row ${id}` }))
const json = JSON.stringify(rows)

const shape = (result: ToolResult, store: ResultStore | undefined): Promise<ToolResult> =>
  shapeToolResult(result, { preset: PRESET, openStore: () => store, tool: 'query' })

const metaOf = (result: ToolResult): any => result._meta?.[SHAPED_META]
const textsOf = (result: ToolResult): readonly string[] =>
  result.content.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
const lengthOf = (result: ToolResult): number => textsOf(result).reduce((sum, text) => sum + text.length, 0)

describe(`${promise('ISO-16')}: a result`, () => {
  it('that is small is returned as the same object', async () => {
    const result = { content: [textContent('x'.repeat(5_000)), { type: 'image', data: 'AAAA', mimeType: 'image/png' }] }
    expect(await shape(result, undefined)).toBe(result)
  })

  it('that is large is saved in full, then shortened, and linked', async () => {
    const store = openTestStore(createTestRoot())
    const shaped = await shape({ content: [textContent(json)], _meta: { mine: 1 } }, store)
    const [facts] = metaOf(shaped).results
    expect((await store.read(facts.handle))?.bytes.toString()).toBe(json)
    expect(facts).toMatchObject({ kind: 'json', characters: json.length, omitted: { noun: 'item', of: 500 } })
    expect(JSON.parse(textsOf(shaped)[0] ?? '').notice).toContain(`sallyport_read_result with handle ${facts.handle}`)
    expect(shaped.content.at(-1)).toMatchObject({
      type: 'resource_link',
      uri: `sallyport://results/${facts.handle}`,
      mimeType: 'application/json',
      size: json.length,
    })
    expect(shaped._meta?.mine).toBe(1)
  })

  it('that cannot be saved is still shown in part, and says that the rest is lost', async () => {
    const full = openTestStore(createTestRoot(), {}, { limits: { workspaceBytes: 1_000 } })
    const blocked = createTestRoot()
    writeFileSync(join(blocked, 'results'), 'a file')
    for (const store of [full, openTestStore(blocked)]) {
      const shaped = await shape({ content: [textContent(json)] }, store)
      expect(textsOf(shaped)[0]).toContain('The rest could not be saved and is lost')
      expect(metaOf(shaped).results[0].lost).toBeDefined()
      expect(shaped.content).toHaveLength(1)
    }
    expect(textsOf(await shape({ content: [textContent(json)] }, undefined))[0]).toContain('The rest was not saved')
  })

  it('with large images, audio and bytes describes and links them', async () => {
    const store = openTestStore(createTestRoot())
    const data = Buffer.alloc(3_000, 7).toString('base64')
    const shaped = await shape(
      {
        content: [
          { type: 'image', data, mimeType: 'image/png' },
          { type: 'audio', data, mimeType: 'audio/wav' },
          { type: 'resource', resource: { uri: 'x://y', blob: data } },
          { type: 'image', data: 'AAAA', mimeType: 'image/gif' },
        ],
      },
      store,
    )
    expect(textsOf(shaped)[0]).toMatch(
      /^\[An image \(image\/png, 3.0 kB\) left out\. Full result: .* r_[a-z2-7]{20}\.\]$/,
    )
    expect(shaped.content.map(({ type }) => type)).toEqual([
      ...['text', 'text', 'text', 'image'],
      ...['resource_link', 'resource_link', 'resource_link'],
    ])
    for (const { handle } of metaOf(shaped).results)
      expect((await store.read(handle))?.bytes.equals(Buffer.alloc(3_000, 7))).toBe(true)
  })

  it('of many blocks is limited as a whole, and what is left out is saved', async () => {
    const store = openTestStore(createTestRoot())
    const content = Array.from({ length: 300 }, (_, index) => textContent(`block ${index} ${'word '.repeat(100)}`))
    const shaped = await shape({ content, isError: true }, store)
    expect(lengthOf(shaped)).toBeLessThanOrEqual(PRESET.threshold)
    expect(shaped.isError).toBe(true)
    const left = metaOf(shaped).results.at(-1)
    expect(left.omitted).toMatchObject({ noun: 'block', of: 300 })
    expect(JSON.parse((await store.read(left.handle))?.bytes.toString() ?? '')).toEqual(content)
  })

  it.each<[string, readonly number[]]>([
    ['two long ones', [6_000, 6_000]],
    ['a short one and a long one', [15, 30_000]],
    ['two hundred short ones', Array(200).fill(110)],
    ['twenty of middle length', Array(20).fill(1_000)],
    ['long, empty and short ones', [0, 9_000, 20, 0, 9_000, 300]],
  ])('of several blocks fills the threshold with %s, and keeps short ones whole', async (_, lengths) => {
    const preset = { ...PRESET, threshold: 8_000, previewTokens: Number.POSITIVE_INFINITY, fills: true }
    const content = lengths.map((length) => textContent('word '.repeat(length / 5)))
    const between = content.flatMap((block) => [block, { type: 'image', data: 'AA', mimeType: 'image/gif' }])
    const store = openTestStore(createTestRoot())
    for (const blocks of [content, ...(content.length < 10 ? [between] : [])]) {
      const shaped = await shapeToolResult({ content: blocks, isError: true }, { preset, openStore: () => store })
      const links = shaped.content.filter(({ type }) => type === 'resource_link')
      const linkLength = links.map((link) => JSON.stringify(link).length).reduce((sum, one) => sum + one, 0)
      expect(lengthOf(shaped) + linkLength).toBeLessThanOrEqual(8_000)
      expect(lengthOf(shaped) + linkLength).toBeGreaterThan(8_000 * 0.85)
      const short = content.filter(({ text }) => String(text).length <= 300).slice(0, 50)
      for (const block of short) expect(shaped.content).toContainEqual(block)
    }
  })

  it('of very many empty blocks, or with a block of an unknown type, is limited too', async () => {
    const store = openTestStore(createTestRoot())
    const empty = await shape({ content: Array.from({ length: 100_000 }, () => textContent('')) }, store)
    expect(empty.content.length).toBeLessThan(20)
    const unknown = await shape({ content: [{ type: 'hologram', pixels: 'x'.repeat(9_000) }] }, store)
    expect(textsOf(unknown)[0]).toMatch(/^\[A block of 9,0\d\d characters left out\. Full result: /)
  })

  it('that is fatal still begins with the fatal prefix', async () => {
    const text = `[FATAL] ${'The disk is gone.\n'.repeat(900)}`
    const shaped = await shape({ content: [textContent(text)], isError: true }, openTestStore(createTestRoot()))
    expect(textsOf(shaped)[0]).toMatch(/^\[FATAL\] \[Preview of /)
    expect(lengthOf(shaped)).toBeLessThanOrEqual(PRESET.threshold)
  })

  it('is never longer than the threshold, however its texts are distributed', async () => {
    const root = createTestRoot()
    const blocks = fc.array(
      fc
        .tuple(fc.integer({ min: 0, max: 9_000 }), fc.boolean())
        .map(
          ([length, isResource]): Content =>
            isResource
              ? { type: 'resource', resource: { uri: 'a://b', text: 'abc '.repeat(length / 4) } }
              : textContent('line\n'.repeat(length / 5)),
        ),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(blocks, async (content) => {
        const shaped = await shape({ content }, openTestStore(root))
        const length = shaped.content.reduce((sum, block) => {
          const resource = block.resource as { text?: string } | undefined
          return sum + String(block.text ?? resource?.text ?? '').length
        }, 0)
        expect(length).toBeLessThanOrEqual(PRESET.threshold)
      }),
      { numRuns: 30 },
    )
  })
})

describe(`${promise('ISO-17')}: structured content`, () => {
  it('is left out with the reason if it is too large, and can be read with the handle of the same text', async () => {
    const store = openTestStore(createTestRoot())
    const shaped = await shape({ content: [textContent(json)], structuredContent: rows }, store)
    expect('structuredContent' in shaped).toBe(false)
    expect(metaOf(shaped).structuredContent).toMatch(/^Left out: it has [\d,]+ characters, and 5000 are shown\.$/)
    expect(await store.list()).toHaveLength(1)
  })

  it('is saved separately if the text differs', async () => {
    const store = openTestStore(createTestRoot())
    const shaped = await shape({ content: [textContent('500 rows')], structuredContent: { rows } }, store)
    const handle = /r_[a-z2-7]{20}/.exec(metaOf(shaped).structuredContent)?.[0] ?? ''
    expect(JSON.parse((await store.read(handle))?.bytes.toString() ?? '')).toEqual({ rows })
    expect(textsOf(shaped)[0]).toBe('500 rows')
  })

  it('that is small stays complete beside a text that is cut', async () => {
    const shaped = await shape(
      { content: [textContent(json)], structuredContent: { count: 500 } },
      openTestStore(createTestRoot()),
    )
    expect(shaped.structuredContent).toEqual({ count: 500 })
  })
})
