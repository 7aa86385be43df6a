import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HttpSession, ModernHttp } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import type { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import {
  fixture,
  type GovernedBench,
  makeFolder,
  npmServer,
  openClient,
  openGoverned,
  outcomeOf,
} from './governed-bench.ts'

const SECRET = 'content of a secret file'
const OPEN = 'content of an open file'

/**
 * The official filesystem server reads a relative path from the folders among its arguments, or from the roots of its
 * client, and never from its working folder: what is refused here would have been opened.
 */
describe(`${promise('GOV-15')} a relative path in front of a real file server`, () => {
  const folder = makeFolder()
  const at = (...parts: readonly string[]): string => join(realpathSync(folder.path), ...parts)
  const file = (path: string, content: string): void => {
    mkdirSync(join(at(path), '..'), { recursive: true })
    writeFileSync(at(path), content)
  }
  let bench: GovernedBench
  let client: LegacyClient

  beforeAll(async () => {
    for (const path of ['data/a.txt', 'data/open/a.txt', 'work/a.txt', 'more/c.txt']) file(path, OPEN)
    for (const path of ['data/secret/keys.txt', 'more/secret/b.txt', 'data/keys.txt']) file(path, SECRET)
    symlinkSync(at('data/secret'), at('data/open/innocent'))
    symlinkSync(at('data'), at('link'))
    // If a name does not exist as it is written, this server uses one that looks the same.
    symlinkSync('../secret', at('data/open', 'lié'.normalize('NFD')))
    symlinkSync('../secret', at('data/open', 'ﬁé'.normalize('NFC')))
    symlinkSync('../secret', at('data/open', `${'é'.normalize('NFD')}${'é'.normalize('NFC')}`))
    symlinkSync('../secret', at('data/open', '\u212aeys'))
    mkdirSync(at('data/open', 'dé'.normalize('NFD')))
    symlinkSync('../../secret', at('data/open', 'dé'.normalize('NFD'), 'plain'))
    const data = npmServer('filesystem', at('data'))
    const free = { requires_approval: false }
    bench = await openGoverned({
      servers: {
        plain: data,
        two: npmServer('filesystem', at('more'), at('link')),
        uncle: { ...data, cwd: at('work') },
        inside: { ...data, cwd: at('data') },
        asked: { ...data, cwd: at('work') },
        rooted: data,
        reader: fixture('root-reader.mjs'),
      },
      tools: {
        'mcp__plain__*': { ...free, forbidden_paths: [at('data/secret/**')] },
        'mcp__two__*': { ...free, forbidden_paths: [at('data/secret'), at('more/secret')] },
        'mcp__uncle__*': { ...free, allowed_paths: [at('work/**')] },
        'mcp__inside__*': { ...free, allowed_paths: [at('data/open/**'), at('data/a.txt')] },
        'mcp__asked__*': { requires_approval: true, unattended_paths: [at('data/open/**'), at('work/**')] },
        'mcp__rooted__*': { ...free, forbidden_paths: [at('data/secret/**')] },
        'mcp__reader__*': { ...free, forbidden_paths: [at('data/secret/**')] },
      },
    })
    client = await openClient(bench)
  })

  afterAll(async () => {
    await bench.close()
    folder.remove()
  })

  const read = async (server: string, path: string): Promise<string> => {
    const answer = await client.request('tools/call', { name: `${server}_read_text_file`, arguments: { path } })
    expect(JSON.stringify(answer.message)).not.toContain(SECRET)
    return outcomeOf(answer)
  }

  it.each([
    'secret/keys.txt',
    './secret/keys.txt',
    'open/../secret/keys.txt',
    'open/innocent/keys.txt',
    'nothing/../secret/keys.txt',
    'secret//keys.txt',
    'secret%2fkeys.txt',
    'secret\\keys.txt',
    ' secret/keys.txt',
    'secret',
    '/secret/keys.txt',
    `open/${'lié'.normalize('NFC')}/keys.txt`,
    `/open/${'lié'.normalize('NFC')}/keys.txt`,
    `open/${'ﬁé'.normalize('NFD')}/keys.txt`,
    `open/${'éé'.normalize('NFC')}/keys.txt`,
    `open/${'éé'.normalize('NFD')}/keys.txt`,
    `open/${'dé'.normalize('NFC')}/plain/keys.txt`,
    'open/Keys/keys.txt',
    '"secret/keys.txt"',
  ])('is refused if it leads to a forbidden one: %s', async (path) => {
    expect(await read('plain', path)).toBe('ARGUMENTS_FORBIDDEN')
  })

  it.each([
    ['write_file', { path: 'secret/new.txt', content: 'x' }],
    ['edit_file', { path: 'secret/keys.txt', edits: [{ oldText: 'secret', newText: 'x' }] }],
    ['read_multiple_files', { paths: ['a.txt', 'secret/keys.txt'] }],
    ['move_file', { source: 'a.txt', destination: 'secret/a.txt' }],
    ['list_directory', { path: 'secret' }],
  ])('is refused in every tool: %s', async (tool, args) => {
    const answer = await client.request('tools/call', { name: `plain_${tool}`, arguments: args })
    expect(outcomeOf(answer)).toBe('ARGUMENTS_FORBIDDEN')
    expect(readFileSync(at('data/secret/keys.txt'), 'utf8')).toBe(SECRET)
  })

  it('works if it leads to no forbidden one', async () => {
    for (const path of ['a.txt', './a.txt', 'open/a.txt', 'open/../a.txt']) expect(await read('plain', path)).toBe('ok')
    expect(await read('two', 'c.txt')).toBe('ok')
    const write = { name: 'plain_write_file', arguments: { path: 'new.txt', content: 'x' } }
    expect(outcomeOf(await client.request('tools/call', write))).toBe('ok')
    expect(readFileSync(at('data/new.txt'), 'utf8')).toBe('x')
  })

  it('is resolved from each of several folders, also behind a link', async () => {
    expect(await read('two', 'secret/b.txt')).toBe('ARGUMENTS_FORBIDDEN')
    expect(await read('two', '../data/secret/keys.txt')).toBe('ARGUMENTS_FORBIDDEN')
    expect(await read('two', 'secret/keys.txt')).toBe('ARGUMENTS_FORBIDDEN')
  })

  it('has to be allowed from every folder, not from the working folder alone', async () => {
    expect(await read('uncle', 'keys.txt')).toBe('ARGUMENTS_FORBIDDEN')
    expect(await read('inside', 'keys.txt')).toBe('ARGUMENTS_FORBIDDEN')
    expect(await read('inside', 'a.txt')).toBe('ok')
    expect(await read('inside', 'open/a.txt')).toBe('ok')
    for (const name of ['lié', 'éé', 'dé/plain'])
      expect(await read('inside', `open/${name.normalize('NFC')}/keys.txt`)).toBe('ARGUMENTS_FORBIDDEN')
    const { message } = await client.request('tools/call', { name: 'uncle_read_text_file', arguments: { path: 'a' } })
    expect(JSON.stringify(message)).toContain(
      'is not in allowed_paths from every folder that the server may read it from; use an absolute path',
    )
    expect(JSON.stringify(message)).not.toContain(folder.path)
  })

  it('needs approval unless it is unattended from every folder', async () => {
    expect(await read('asked', 'keys.txt')).toBe('APPROVAL_EXPIRED')
    expect(await read('asked', at('data/open/a.txt'))).toBe('ok')
  })

  describe('of a client with roots', () => {
    const rootsAt = (...names: readonly string[]): Message => ({
      result: { roots: names.map((name) => ({ uri: pathToFileURL(at(name)).href })) },
    })
    const isQuestion = ({ id, method }: Message): boolean => id !== undefined && method !== undefined

    it('is resolved from the roots that the server received', async () => {
      const window = openWindow(bench.gateway)
      await window.initialize({ roots: {} })
      const asked = window.next(isQuestion)
      const list = (): Promise<Message> => window.call('rooted_list_allowed_directories')
      const first = list()
      window.answer((await asked).id, rootsAt('data/secret'))
      await first
      await eventually(list, (answer) => JSON.stringify(answer).includes(at('data/secret')))
      const answer = await window.request('tools/call', {
        name: 'rooted_read_text_file',
        arguments: { path: 'keys.txt' },
      })
      expect(outcomeOf({ message: answer })).toBe('ARGUMENTS_FORBIDDEN')
      await window.leave()
    })

    it.each([
      ['HTTP', () => HttpSession.open(bench.gateway.mcp, { roots: {} })],
      ['the modern era', async () => new ModernHttp(bench.gateway.mcp, { capabilities: { roots: {} } })],
    ])('does not become a forbidden one by roots that are given during the call: %s', async (_, open) => {
      const client = await open()
      const params = { name: 'reader_read', arguments: { path: 'keys.txt' } }
      const hostile = await client.converse(params, () => rootsAt('data/secret'))
      expect(hostile.questions.map(({ method }) => method)).toContain('roots/list')
      expect(JSON.stringify(hostile.answer)).not.toContain(SECRET)
      expect(bench.last('POLICY_DENIED')).toMatchObject({ tool_name: 'mcp__reader__roots/list' })
    })

    it('works with roots that lead to no forbidden one', async () => {
      const client = await HttpSession.open(bench.gateway.mcp, { roots: {} })
      const params = { name: 'reader_read', arguments: { path: 'a.txt' } }
      const honest = await client.converse(params, () => rootsAt('data/open'))
      expect(JSON.stringify(honest.answer)).toContain(OPEN)
    })
  })
})
