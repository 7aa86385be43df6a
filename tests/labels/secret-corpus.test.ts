import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { findSecrets } from '../../packages/core/src/secrets/find-secrets.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** Not the tests: they make up logins to see what becomes of them. */
function filesUnder(folder: string, wanted: RegExp): readonly string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => wanted.test(file) && !/(^|\/)(node_modules|dist)\/|\.test\.ts$/.test(file))
    .map((file) => path.join(folder, file))
}

/** The location and kind of each finding: a real secret must not be printed. */
function findingsIn(files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8')
    return findSecrets(text).map(({ kind, start }) => `${file}:${text.slice(0, start).split('\n').length} ${kind}`)
  })
}

describe('texts without secrets', () => {
  it.each(['packages', 'docs', 'bench'])('nothing is found in %s', (folder) => {
    expect(findingsIn(filesUnder(folder, /\.(ts|tsx|mjs|md|json|yaml)$/))).toEqual([])
  })

  it('nothing is found in the lock file', () => {
    expect(findingsIn(['package-lock.json', 'README.md', 'ARCHITECTURE.md'])).toEqual([])
  })

  it('nothing is found in minified programs', () => {
    const minified = readdirSync(path.join(ROOT, 'node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.min\.[cm]?js$/.test(file))
      .map((file) => path.join('node_modules', file))
    expect(minified.length).toBeGreaterThan(0)
    expect(findingsIn(minified)).toEqual([])
  })
})
