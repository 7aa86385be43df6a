import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ERRORS, type ErrorKind } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES } from '../../packages/gateway/src/serve/api/event-query.ts'
import { OTEL_PACKAGES } from '../../packages/gateway/src/telemetry/gateway-telemetry.ts'
import { filesBelow, ROOT, textOf } from '../harness/repository.ts'

const pages = filesBelow('.').filter((path) => path.endsWith('.md'))

/** The cells of every row of a page's tables whose first cell is code. */
function rowsOf(path: string): readonly (readonly string[])[] {
  return textOf(path)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

describe('docs/errors.md', () => {
  const rows = rowsOf('docs/errors.md')

  it('lists every code of the table, in its order, and no other', () => {
    expect(rows.map(([code]) => code)).toEqual(Object.keys(ERRORS).map((code) => `\`${code}\``))
  })

  it.each(Object.entries<ErrorKind>(ERRORS))('says how %s is answered, its cause and what to do', (code, kind) => {
    const yes = (flag: boolean): string => (flag ? 'yes' : '')
    const [, ...cells] = rows.find(([name]) => name === `\`${code}\``) ?? []
    const { http, rpc, exit, retryable, forModel } = kind
    expect(cells.slice(0, 5)).toEqual([`${http}`, `${rpc}`, `${exit}`, yes(retryable), yes(forModel)])
    expect(cells.slice(5)).toEqual([expect.stringMatching(/\S/), expect.stringMatching(/\S/)])
  })
})

it('docs/audit.md says when each event is recorded, and names no other', () => {
  const named = rowsOf('docs/audit.md').flatMap(([cell = '']) => cell.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [])
  expect(named.sort()).toEqual([...EVENT_TYPES].sort())
})

describe('the decision about runtime dependencies', () => {
  const manifest = JSON.parse(textOf('packages/gateway/package.json')) as Record<string, Record<string, string>>

  it('has a row for each package that is installed with the gateway or beside it, and for no other', () => {
    const { dependencies, peerDependencies } = manifest
    const rows = rowsOf('docs/decisions/0006-runtime-dependencies.md')
    const named = rows.flatMap(([cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
    expect(named.sort()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).sort())
  })

  it('is right that the optional ones are optional, and shows the right command to install them', () => {
    const { peerDependencies = {}, peerDependenciesMeta, devDependencies = {} } = manifest
    const names = Object.keys(peerDependencies)
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(names.map((name) => [name, { optional: true }])))
    const telemetry = names.filter((name) => name.startsWith('@opentelemetry/'))
    expect(telemetry.map((name) => peerDependencies[name])).toEqual(
      telemetry.map((name) => `~${devDependencies[name]}`),
    )
    expect(OTEL_PACKAGES).toEqual(telemetry.map((name) => `${name}@${devDependencies[name]}`))
    expect(textOf('docs/telemetry.md')).toContain(`npm install ${OTEL_PACKAGES.join(' ')}`)
    const models = names.filter((name) => !telemetry.includes(name))
    expect(models.map((name) => peerDependencies[name])).toEqual(models.map((name) => `^${devDependencies[name]}`))
  })

  it('is right that core has none, and that the kit has those of its own decision', () => {
    expect(JSON.parse(textOf('packages/core/package.json'))).not.toHaveProperty('dependencies')
    const { dependencies, peerDependencies } = JSON.parse(textOf('packages/kit/package.json'))
    const decision = textOf('docs/decisions/0013-kit-dependencies.md')
    const argued = [...decision.matchAll(/\*\*`([^`]+)`\*\*/g)].map(([, name]) => name)
    expect(['@sallyport/core', ...argued].sort()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).sort())
  })
})

describe('the decisions about code of our own', () => {
  const linesOf = (path: string): number => textOf(path).trimEnd().split('\n').length
  const sum = (folder: string, ...files: readonly string[]): number =>
    files.reduce((total, file) => total + linesOf(`packages/${folder}/${file}`), 0)

  it.each([
    ['0014-webassembly-loops', sum('core/src', 'text/string-scan.wat', 'secrets/trigram-scan.wat')],
    [
      '0014-webassembly-loops',
      sum('core/src', 'text/wasm-scanner.ts', 'secrets/trigram-search.ts', 'secrets/trigram-table.ts'),
    ],
    [
      '0015-whole-requests',
      sum(
        'gateway/src/serve/http',
        ...['fast-request-parser.ts', 'fast-response-writer.ts', 'http-connection.ts', 'http-connections.ts'],
      ),
    ],
    [
      '0016-own-http-client',
      sum(
        'gateway/src/upstream/http',
        ...['connection-pool.ts', 'client-connection.ts', 'connection-failure.ts'],
        ...['response-reader.ts', 'response-head.ts'],
      ),
    ],
  ])('say what it costs: %s, about %i lines', (decision, lines) => {
    const stated = [...textOf(`docs/decisions/${decision}.md`).matchAll(/\b(\d+) lines\b/g)].map(([, count]) =>
      Number(count),
    )
    // A change of a few lines is no reason to change the page.
    expect(stated.some((count) => Math.abs(count - lines) <= lines / 20)).toBe(true)
  })
})

describe('the pages', () => {
  it.each(pages)('%s links only to existing files', (page) => {
    const targets = [...textOf(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => target)
    const local = targets.filter((target) => !/^[a-z]+:/.test(target))
    expect(local.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([])
  })

  it('of the architecture name existing files', () => {
    const rooms = /`((?:[a-z]+|(?:core|kit)\/src)\/[\w./-]+\.(?:ts|tsx|md))`/g
    const named = [...textOf('ARCHITECTURE.md').matchAll(rooms)].map(([, path = '']) => path)
    const prefixes = ['', 'packages', 'packages/gateway/src']
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((path) => !prefixes.some((prefix) => existsSync(join(ROOT, prefix, path))))).toEqual([])
  })

  it('show the commands that the program has', async () => {
    const { COMMAND_NAMES } = await import('../../packages/gateway/src/cli/application.ts')
    const rows = rowsOf('README.md').map(([cell = '']) => cell)
    const shown = rows.flatMap((cell) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name))
    expect(shown.sort()).toEqual([...COMMAND_NAMES].sort())
  })
})
