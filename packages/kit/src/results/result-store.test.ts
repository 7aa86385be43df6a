import { linkSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createTestRoot, openTestStore } from './test-result-store.test-kit.ts'

const DAY = 24 * 60 * 60_000
const START = Date.parse('2026-03-01T10:20:30.456Z')

describe(`${promise('ISO-16')}: the store of a session`, () => {
  it('stores every byte, with a generated name and the extension of its type', async () => {
    const root = createTestRoot()
    const store = openTestStore(root, { now: () => START })
    const saved = await store.save('{"a": 1}', { tool: '../Search Records', mimeType: 'text/plain' })
    expect(saved).toMatchObject({ mimeType: 'application/json', size: 8, created: START })
    expect(saved.path).toMatch(/^\/workspace\/results\/20260301-102030456-_search_records-r_[a-z2-7]{20}\.json$/)
    expect(readFileSync(join(root, saved.path.replace('/workspace', '')), 'utf8')).toBe('{"a": 1}')
    const image = await store.save(new Uint8Array([0, 255, 1]), { mimeType: 'image/png' })
    expect(image.path).toMatch(/\.png$/)
    expect(await store.read(image.handle)).toEqual({ saved: image, bytes: Buffer.from([0, 255, 1]) })
  })

  it('is still there after a restart', async () => {
    const root = createTestRoot()
    const { handle } = await openTestStore(root).save('kept')
    expect((await openTestStore(root).read(handle))?.bytes.toString()).toBe('kept')
  })

  it('has nothing of another session, and nothing for names that are not handles', async () => {
    const mine = openTestStore(createTestRoot())
    const yours = openTestStore(createTestRoot())
    const { handle, path } = await mine.save('mine')
    expect(await yours.read(handle)).toBeUndefined()
    for (const name of [path, handle.slice(0, -1), handle.toUpperCase(), '../x', '', `${handle}\0`, 'r_'])
      expect(await mine.read(name)).toBeUndefined()
  })

  it('removes results that are too old, and does not return them even before that', async () => {
    const root = createTestRoot()
    let now = START
    const store = openTestStore(root, { now: () => now, limits: { age: DAY } })
    const { handle } = await store.save('old')
    now += DAY + 1
    expect(await store.read(handle)).toBeUndefined()
    expect(await store.list()).toEqual([])
    await store.save('new')
    expect(readdirSync(join(root, 'results'))).toHaveLength(1)
  })

  it('removes the oldest first if all together are too large or too many, and never the new one', async () => {
    let now = START
    const store = openTestStore(createTestRoot(), { now: () => now++, limits: { bytes: 100, results: 3 } })
    const first = await store.save('1'.repeat(40))
    const second = await store.save('2'.repeat(40))
    const third = await store.save('3'.repeat(40))
    expect((await store.list()).map(({ handle }) => handle)).toEqual([second.handle, third.handle])
    expect(await store.read(first.handle)).toBeUndefined()
    const large = await store.save('4'.repeat(100))
    expect((await store.list()).map(({ handle }) => handle)).toEqual([large.handle])
    for (let count = 0; count < 5; count++) await store.save('x')
    expect(await store.list()).toHaveLength(3)
    await expect(store.save('y'.repeat(101))).rejects.toThrow('101 bytes')
  })

  it('can be used concurrently', async () => {
    const root = createTestRoot()
    const stores = [openTestStore(root), openTestStore(root)]
    const saved = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => ({
        index,
        result: await stores[index % 2]?.save(`text ${index}`),
      })),
    )
    for (const { index, result } of saved)
      expect((await stores[0]?.read(result?.handle ?? ''))?.bytes.toString()).toBe(`text ${index}`)
    expect(new Set(saved.map(({ result }) => result?.handle)).size).toBe(40)
  })

  it('does not change other files in its folder, and follows no links', async () => {
    const root = createTestRoot()
    const outside = join(createTestRoot(), 'secret')
    writeFileSync(outside, 'secret')
    const store = openTestStore(root, { limits: { results: 1 } })
    const { handle, path } = await store.save('mine')
    const folder = join(root, 'results')
    const name = path.split('/').at(-1) ?? ''
    writeFileSync(join(folder, 'notes.txt'), 'of the agent')
    rmSync(join(folder, name))
    symlinkSync(outside, join(folder, name))
    expect(await store.read(handle)).toBeUndefined()
    rmSync(join(folder, name))
    linkSync(outside, join(folder, name))
    await expect(store.read(handle)).rejects.toThrow('hard links')
    await store.save('next')
    expect(readdirSync(folder)).toContain('notes.txt')
    expect(readFileSync(outside, 'utf8')).toBe('secret')
  })

  it('writes nothing through a link at the path of its folder', async () => {
    const root = createTestRoot()
    const elsewhere = createTestRoot()
    symlinkSync(elsewhere, join(root, 'results'))
    await expect(openTestStore(root).save('text')).rejects.toThrow()
    expect(readdirSync(elsewhere)).toEqual([])
  })
})
