import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const UI = join(REPOSITORY, 'packages/gateway/ui')
const MAX_BYTES = 180_000

interface Chunk {
  readonly file: string
  readonly css?: readonly string[]
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
  readonly isEntry?: boolean
}

it(`${promise('WEB-14')} the first load of every screen is at most 180 kB, compressed`, () => {
  const manifest = JSON.parse(readFileSync(join(UI, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>
  const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry) ?? ''
  const screens = (manifest[entry]?.dynamicImports ?? []).filter((name) => name.includes('/screens/'))
  expect(screens.length).toBeGreaterThan(0)
  const sizes = Object.fromEntries(screens.map((screen) => [screen, sizeOf([entry, screen], manifest)]))
  for (const [screen, size] of Object.entries(sizes)) expect(size, screen).toBeLessThanOrEqual(MAX_BYTES)
})

function sizeOf(names: readonly string[], manifest: Readonly<Record<string, Chunk>>): number {
  const files = new Set(['index.html'])
  const add = (name: string): void => {
    const chunk = manifest[name]
    if (chunk === undefined || files.has(chunk.file)) return
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file)
    for (const imported of chunk.imports ?? []) add(imported)
  }
  for (const name of names) add(name)
  return [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(UI, file))).length, 0)
}
