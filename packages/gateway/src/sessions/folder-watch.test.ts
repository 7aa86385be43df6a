import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FolderWatch } from './folder-watch.ts'

let root: string
let watch: FolderWatch | undefined

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-watch-'))
})

afterEach(() => {
  watch?.close()
  rmSync(root, { recursive: true, force: true })
})

function watched(path: string) {
  let wake = () => {}
  const counter = { calls: 0 }
  watch = new FolderWatch(path, () => {
    counter.calls++
    wake()
  })
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  return { counter, next }
}

it('calls back once for many changes at the same time', async () => {
  const { counter, next } = watched(root)
  const first = next()
  for (let i = 0; i < 20; i++) writeFileSync(join(root, `f${i}`), 'x')
  await first
  expect(counter.calls).toBe(1)
})

it('polls a folder that does not exist yet, and watches it once it does', async () => {
  const path = join(root, 'later')
  const { next } = watched(path)
  await next()
  mkdirSync(path)
  await next()
  const changed = next()
  writeFileSync(join(path, 'f'), 'x')
  await changed
})

it('calls back again after recheckSoon', async () => {
  const { next } = watched(root)
  const again = next()
  watch?.recheckSoon()
  await again
})

it('does not call back after it was closed', async () => {
  const closed = watched(root)
  writeFileSync(join(root, 'f'), 'x')
  watch?.close()
  const open = watched(root)
  const seen = open.next()
  writeFileSync(join(root, 'g'), 'x')
  await seen
  expect(closed.counter.calls).toBe(0)
})
