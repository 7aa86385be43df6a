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
  const told = { calls: 0 }
  watch = new FolderWatch(path, () => {
    told.calls++
    wake()
  })
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  return { told, next }
}

it('tells of many changes at once only once', async () => {
  const { told, next } = watched(root)
  const first = next()
  for (let i = 0; i < 20; i++) writeFileSync(join(root, `f${i}`), 'x')
  await first
  expect(told.calls).toBe(1)
})

it('looks regularly at a folder that is not there yet, and watches it once it is', async () => {
  const path = join(root, 'later')
  const { next } = watched(path)
  await next()
  mkdirSync(path)
  await next()
  const changed = next()
  writeFileSync(join(path, 'f'), 'x')
  await changed
})

it('calls again when it is nudged', async () => {
  const { next } = watched(root)
  const again = next()
  watch?.recheckSoon()
  await again
})

it('is silent after it was closed', async () => {
  const closed = watched(root)
  writeFileSync(join(root, 'f'), 'x')
  watch?.close()
  const open = watched(root)
  const seen = open.next()
  writeFileSync(join(root, 'g'), 'x')
  await seen
  expect(closed.told.calls).toBe(0)
})
