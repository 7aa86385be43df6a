import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LegacyClient } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'
import { type GovernedBench, makeFolder, npmServer, openClient, openGoverned, outcomeOf } from './governed-bench.ts'

/**
 * The server may look at the whole of its folder: whatever is refused here is refused by the rules, and what passes them
 * really reaches the disk.
 */
describe(`${promise('GOV-15')} path rules in front of a real file server`, () => {
  const folder = makeFolder()
  const at = (...parts: readonly string[]): string => join(folder.path, ...parts)
  let bench: GovernedBench
  let client: LegacyClient

  beforeAll(async () => {
    const rules = {
      allowed_paths: [at('project', '**')],
      forbidden_paths: [at('project', 'keys', '**'), '**/.env'],
      requires_approval: false,
    }
    bench = await openGoverned({
      servers: { files: npmServer('filesystem', folder.path) },
      tools: { 'mcp__files__*': rules },
    })
    client = await openClient(bench)
  })

  beforeEach(() => {
    for (const name of ['project/keys', 'project/src', 'project-evil', 'other'])
      mkdirSync(at(name), { recursive: true })
    for (const name of ['project/a.txt', 'project/.env', 'project/keys/id', 'project-evil/a.txt', 'other/a.txt'])
      writeFileSync(at(name), `in ${name}`)
    for (const [target, name] of [
      ['other', 'project/way-out'],
      ['other/a.txt', 'project/src/innocent.txt'],
      ['project/keys', 'project/src/not-keys'],
      ['project', 'way-in'],
    ] as const)
      link(at(target), at(name))
  })

  const link = (target: string, path: string): void => {
    try {
      symlinkSync(target, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }

  afterAll(async () => {
    await bench.close()
    folder.remove()
  })

  const call = async (tool: string, args: object): Promise<string> =>
    outcomeOf(await client.request('tools/call', { name: `files_${tool}`, arguments: args }))

  /** Paths by what they are called, and whether they may be used. */
  const INSIDE = ['project/a.txt', 'project/src/../a.txt', 'project//a.txt', 'way-in/a.txt']
  const OUTSIDE = [
    'other/a.txt',
    'project/../other/a.txt',
    'project-evil/a.txt',
    'project/keys/id',
    'project/src/../keys/id',
    'project/.env',
    'project/way-out/a.txt',
    'project/src/innocent.txt',
    'project/src/not-keys/id',
    'way-in/keys/id',
  ]
  const raw = (path: string): string => `${folder.path}/${path}`

  it.each(INSIDE)('let %s be read', async (path) => {
    expect(await call('read_text_file', { path: raw(path) })).toBe('ok')
    expect(await call('read_multiple_files', { paths: [raw(path), at('project/a.txt')] })).toBe('ok')
  })

  it.each(OUTSIDE)('keep %s from being read, alone or among others', async (path) => {
    expect(await call('read_text_file', { path: raw(path) })).toBe('ARGUMENTS_FORBIDDEN')
    expect(await call('read_multiple_files', { paths: [at('project/a.txt'), raw(path)] })).toBe('ARGUMENTS_FORBIDDEN')
    expect(bench.last('POLICY_DENIED')).toMatchObject({
      tool_name: 'mcp__files__read_multiple_files',
      decided_by: {
        step: 'arguments',
        rule: { file: expect.stringMatching(/tools\.yaml$/), line: expect.any(Number) },
      },
    })
  })

  it.each(OUTSIDE)('keep %s from being written, edited, and moved, from there and to there', async (path) => {
    const edits = [{ oldText: 'in', newText: 'out' }]
    expect(await call('write_file', { path: raw(path), content: 'x' })).toBe('ARGUMENTS_FORBIDDEN')
    expect(await call('edit_file', { path: raw(path), edits })).toBe('ARGUMENTS_FORBIDDEN')
    const free = at('project/free.txt')
    expect(await call('move_file', { source: raw(path), destination: free })).toBe('ARGUMENTS_FORBIDDEN')
    expect(await call('move_file', { source: at('project/a.txt'), destination: `${raw(path)}2` })).toBe(
      path.endsWith('.env') || path.endsWith('innocent.txt') ? 'ok' : 'ARGUMENTS_FORBIDDEN',
    )
    expect(readFileSync(at('other/a.txt'), 'utf8')).toBe('in other/a.txt')
    expect(readFileSync(at('project/keys/id'), 'utf8')).toBe('in project/keys/id')
  })

  it('let what is inside be written, edited and moved', async () => {
    const path = at('project/src/new.txt')
    expect(await call('write_file', { path, content: 'one' })).toBe('ok')
    expect(await call('edit_file', { path, edits: [{ oldText: 'one', newText: 'two' }] })).toBe('ok')
    expect(await call('move_file', { source: path, destination: at(`project/${Date.now()}.txt`) })).toBe('ok')
  })

  it.each([
    '~/a.txt',
    '$HOME/a.txt',
    '../other/a.txt',
    'file:///etc/passwd',
    '/proc/self/root/etc/passwd',
    ' /etc/passwd',
  ])('are not misled by %j', async (path) => {
    expect(await call('read_text_file', { path })).toBe('ARGUMENTS_FORBIDDEN')
  })
})
