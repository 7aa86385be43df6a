// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references stand as they are written.

import { isServerId } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import type { ConfigEntry, FoundServer } from './found-server.ts'
import { type ImportPlan, type ImportRequest, mergeServers } from './merge-servers.ts'

type Row = readonly [where: string, entry: ConfigEntry]

const found = (rows: readonly Row[]): readonly FoundServer[] =>
  rows.map(([where, config]) => {
    const [agent = '', name = ''] = where.split(/:(.*)/s)
    return {
      agent,
      name,
      file: `/home/${agent}`,
      scope: 'user',
      server: { ok: true, config, notes: [] },
    } as FoundServer
  })

const merge = (rows: readonly Row[], wish: Partial<ImportRequest> = {}): ImportPlan =>
  mergeServers({
    found: found(rows),
    existing: new Map(),
    port: 4747,
    lookup: () => undefined,
    secrets: 'hide',
    projects: 'leave',
    ...wish,
  })

const ids = ({ added }: ImportPlan): readonly string[] => added.map(({ id }) => id)

describe(`merging the servers of agents (${promise('AG-18')})`, () => {
  it.each<[string, ConfigEntry, ConfigEntry]>([
    ['with and without -y', { command: 'npx', args: ['-y', 'x'] }, { command: 'npx', args: ['x'] }],
    ['by another runner', { command: 'npx', args: ['x', '/d/'] }, { command: 'bunx', args: ['x', '/d'] }],
    ['by two words', { command: 'pnpm', args: ['dlx', 'x'] }, { command: '/usr/bin/npx.cmd', args: ['--yes', 'x'] }],
    ['at the latest', { command: 'npx', args: ['@a/x@latest'] }, { command: 'npx', args: ['@a/x'] }],
    ['pinned by one', { command: 'uvx', args: ['x==1.2'] }, { command: 'uvx', args: ['x'] }],
    ['with a slash', { url: 'https://A.example/mcp/' }, { url: 'https://a.example:443/mcp' }],
    [
      'with a token in one',
      { url: 'https://a.example', headers: { Authorization: 'Bearer ${T}' } },
      { url: 'https://a.example/' },
    ],
    ['with variables in one', { command: 'x', env: { A: '1' } }, { command: 'x', env: { B: '2' } }],
    [
      'with a secret behind a variable',
      { command: 'x', args: ['--token', 'abcdef'] },
      { command: 'x', args: ['--token', '${T}'] },
    ],
  ])('finds the same server under two names: %s', (_how, one, other) => {
    const plan = merge([
      ['claude-code:first', one],
      ['cursor:second', other],
    ])
    expect(ids(plan)).toEqual(['first'])
    expect(plan.added[0]?.sources.map(({ agent }) => agent)).toEqual(['claude-code', 'cursor'])
  })

  it('hides the password of a URL also if it has a key', () => {
    const url = `https://anna:${'pa55W0rd'.repeat(2)}@a.example/mcp?api_key=${'k3Y9'.repeat(6)}`
    const [added] = merge([['claude-code:one', { url }]]).added
    expect(String(added?.entry.url)).toMatch(/^https:\/\/.*\$\{\w+\}.*@a\.example\/mcp\?api_key=\$\{\w+\}$/)
  })

  it.each<[string, ConfigEntry, ConfigEntry]>([
    ['of another version', { command: 'npx', args: ['x@1'] }, { command: 'npx', args: ['x@2'] }],
    ['in another folder', { command: 'npx', args: ['x', '/a'] }, { command: 'npx', args: ['x', '/b'] }],
    ['with another account', { command: 'x', env: { TOKEN: 'one' } }, { command: 'x', env: { TOKEN: 'two' } }],
    ['with another database', { command: 'x', env: { DB: 'one' } }, { command: 'x', env: { DB: 'two' } }],
    ['at another address', { url: 'https://a.example/one' }, { url: 'https://a.example/two' }],
    [
      'with another key in its address',
      { url: 'https://a.example/?api_key=one1' },
      { url: 'https://a.example/?api_key=two2' },
    ],
    ['by a flag of the runner', { command: 'npx', args: ['-p', 'x', 'y'] }, { command: 'npx', args: ['-p', 'x', 'z'] }],
    ['started elsewhere', { command: 'x', cwd: '/a' }, { command: 'x', cwd: '/b' }],
    ['with another argument hidden', { command: 'x', args: ['A_TOKEN=s1'] }, { command: 'x', args: ['B_TOKEN=s1'] }],
  ])('keeps another server apart and names it after its agent: %s', (_how, one, other) => {
    const plan = merge([
      ['claude-code:same', one],
      ['cursor:same', other],
    ])
    expect(ids(plan)).toEqual(['same', 'same-cursor'])
    expect(plan.added[1]?.renamedFrom).toBe('same')
  })

  it('keeps the version that somebody pinned, and all variables', () => {
    const [server] = merge([
      ['a:x', { command: 'npx', args: ['x'], env: { MODE: 'fast', LEVEL: '1' } }],
      ['b:x', { command: 'npx', args: ['-y', 'x@1.2'], env: { LEVEL: '${LEVEL}' }, timeouts: { call: '9s' } }],
    ]).added
    expect(server?.entry).toMatchObject({ args: ['-y', 'x@1.2'], env: { MODE: 'fast', LEVEL: '${LEVEL}' } })
  })

  it('does not lose an account because another agent has it behind a variable', () => {
    const rows: readonly Row[] = [
      ['a:gh', { command: 'x', env: { TOKEN: '${T}' } }],
      ['b:gh', { command: 'x', env: { TOKEN: 's1' } }],
      ['c:gh', { command: 'x', env: { TOKEN: 's2' } }],
    ]
    expect(ids(merge(rows))).toEqual(['gh', 'gh-c'])
    expect(ids(merge(rows, { lookup: (name) => (name === 'T' ? 's2' : undefined) }))).toEqual(['gh', 'gh-b'])
  })

  it('does not import existing servers, this gateway, or disabled or broken servers', () => {
    const existing = new Map<string, ConfigEntry>([['gh', { command: 'npx', args: ['gh'], env: { TOKEN: '${GH}' } }]])
    const off: FoundServer = { agent: 'a', name: 'bad', file: 'f', scope: 'user', server: { ok: false, why: 'no.' } }
    const rows = found([
      ['a:github', { command: 'npx', args: ['-y', 'gh'], env: { TOKEN: 'secret' } }],
      ['a:gw', { command: 'sallyport', args: ['serve', '--stdio'] }],
      ['a:gw2', { command: 'npx', args: ['-y', 'sallyport@1.0.0', 'serve', '--stdio'] }],
      ['a:gw3', { command: 'node', args: ['/x/packages/gateway/dist/cli/main.js', 'serve'] }],
      ['a:gw4', { url: 'http://localhost:4747/mcp/claude-code.reviewer' }],
      ['a:off', { command: 'x', enabled: false }],
    ])
    const plan = merge([], { existing, found: [...rows, off] })
    expect(plan.added).toEqual([])
    expect(plan.present.map(({ id, name }) => [id, name])).toEqual([['gh', 'github']])
    expect(plan.skipped.map(({ name, why }) => [name, why])).toEqual([
      ...['gw', 'gw2', 'gw3', 'gw4'].map((name) => [name, 'it is this gateway.']),
      ['off', 'it is disabled there.'],
      ['bad', 'no.'],
    ])
  })

  it('skips servers that came with a folder, unless they are requested', () => {
    const rows = found([['a:theirs', { command: 'x' }]]).map((one) => ({ ...one, scope: 'project' as const }))
    expect(merge([], { found: rows })).toMatchObject({
      added: [],
      skipped: [{ name: 'theirs', why: expect.stringContaining('--project') }],
    })
    expect(ids(merge([], { found: rows, projects: 'take' }))).toEqual(['theirs'])
  })

  it('does not confuse another program on this machine with the gateway', () => {
    expect(ids(merge([['a:x', { url: 'http://localhost:4748/mcp' }]]))).toEqual(['x'])
  })

  it('replaces secrets by variables, each with one value', () => {
    const { added } = merge([
      [
        'a:one',
        { command: 'x', args: ['--api-key=abc', '-v'], env: { API_TOKEN: 's1', MODE: 'fast', AUTH_MODE: 'true' } },
      ],
      ['a:two', { command: 'y', args: ['--header', 'Authorization: Bearer s2'], env: { API_TOKEN: 's2' } }],
      ['a:three', { url: 'https://z.example/mcp?token=s3&x=1', headers: { 'X-Api-Key': 's4', Accept: 'text/html' } }],
      ['a:four', { command: 'z', env: { API_TOKEN: 's1', KEY_FILE: '/etc/key.pem', AUTH_URL: 'https://a.example' } }],
    ])
    expect(added.map(({ entry }) => entry)).toEqual([
      {
        command: 'x',
        args: ['--api-key=${ONE_API_KEY}', '-v'],
        env: { API_TOKEN: '${API_TOKEN}', MODE: 'fast', AUTH_MODE: 'true' },
      },
      {
        command: 'y',
        args: ['--header', 'Authorization: Bearer ${TWO_TOKEN}'],
        env: { API_TOKEN: '${TWO_API_TOKEN}' },
      },
      {
        url: 'https://z.example/mcp?token=${THREE_TOKEN}&x=1',
        headers: { 'X-Api-Key': '${THREE_X_API_KEY}', Accept: 'text/html' },
      },
      { command: 'z', env: { API_TOKEN: '${API_TOKEN}', KEY_FILE: '/etc/key.pem', AUTH_URL: 'https://a.example' } },
    ])
    expect(added[0]?.unset).toEqual(['ONE_API_KEY', 'API_TOKEN'])
  })

  it('uses a variable that is set to the same value, and none with another value', () => {
    const rows: readonly Row[] = [['a:gh', { command: 'x', env: { TOKEN: 's1' } }]]
    const set = (value: string) => merge(rows, { lookup: (name) => (name === 'TOKEN' ? value : undefined) }).added[0]
    expect(set('s1')).toMatchObject({ entry: { env: { TOKEN: '${TOKEN}' } }, unset: [] })
    expect(set('other')).toMatchObject({ entry: { env: { TOKEN: '${GH_TOKEN}' } }, unset: ['GH_TOKEN'] })
    const existing = new Map<string, ConfigEntry>([['z', { command: 'z', env: { A: '${TOKEN}' } }]])
    expect(merge(rows, { existing }).added[0]?.unset).toEqual(['GH_TOKEN'])
  })

  it('writes plain secrets only if that is requested', () => {
    const rows: readonly Row[] = [['a:gh', { command: 'x', env: { TOKEN: 's1' } }]]
    expect(merge(rows, { secrets: 'keep' }).added[0]).toMatchObject({ entry: { env: { TOKEN: 's1' } }, secrets: [] })
  })

  it('gives every server a unique id, whatever its name, and recognizes all of them the second time', () => {
    const text = fc.oneof(
      fc.constantFrom('a', 'A', 'a b', '__proto__', '日本', '', 'sallyport', 'x'.repeat(60), 'a-cursor'),
      fc.string({ maxLength: 12 }),
    )
    const entry = fc.oneof(
      fc.record({
        command: fc.constantFrom('npx', 'x'),
        args: fc.array(fc.constantFrom('-y', 'p', 'p@1', '/d/', '--token', 'k3y'), { maxLength: 4 }),
      }),
      fc.record({
        command: fc.constant('x'),
        env: fc.dictionary(fc.constantFrom('A', 'TOKEN', 'API_KEY'), fc.constantFrom('1', 's3cret', '${V}'), {
          maxKeys: 3,
        }),
      }),
      fc.record({
        url: fc.constantFrom('https://a.example', 'https://a.example/', 'https://b.example/?key=1&token=zz'),
      }),
    )
    const row = fc
      .tuple(fc.constantFrom('codex', 'cursor'), text, entry)
      .map(([agent, name, config]): Row => [`${agent}:${name}`, config as ConfigEntry])
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
        const { added } = merge(rows)
        const named = added.map(({ id }) => id)
        expect(new Set(named).size).toBe(named.length)
        expect(named.every((id) => isServerId(id) && id !== 'sallyport')).toBe(true)
        expect(added.flatMap(({ sources }) => sources).length).toBe(rows.length)
        const again = merge(rows, { existing: new Map(added.map(({ id, entry: written }) => [id, written])) })
        expect(again.added).toEqual([])
      }),
    )
  })
})
