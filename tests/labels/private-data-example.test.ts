import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filesBelow, ROOT, textOf } from '../harness/repository.ts'
import { type Outcome, runScript } from '../harness/run-command.ts'
import { readRecords } from '../harness/run-gateway.ts'
import { snippetsOf } from '../harness/snippets.ts'
import { promise } from '../promises.ts'

const EXAMPLE = join('examples', 'private-data')
const PAGE = `${EXAMPLE}/README.md`
const SALARIES = ['520138', '410276', '470193']

interface Received {
  readonly texts: readonly string[]
  /** Everything, with headers. */
  readonly received: string
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-private-data-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe(`the example of private data (${promise('SEN-6')}, ${promise('SEN-20')})`, () => {
  const before = new Map(filesBelow(EXAMPLE).map((path) => [path, textOf(path)]))
  let outcome: Outcome
  let servers: Readonly<Record<string, Received>>

  beforeAll(async () => {
    const work = join(folder, 'work')
    outcome = await runScript(join(ROOT, EXAMPLE, 'run.mjs'), [work])
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    servers = JSON.parse(readFileSync(join(work, 'received.json'), 'utf8'))
  })

  it('lets out what a person has approved, what fits the schema, and what Ben writes', () => {
    expect(servers.chat?.texts).toEqual([
      'Lunch at noon?',
      'October: 1400607 in total',
      'The salaries of 3 people are within the budget.',
    ])
    expect(servers.ledger?.texts).toEqual(['October 1400607'])
  })

  it('shows private numbers to the isolated instance only', () => {
    expect(servers.charts?.texts).toEqual(['500 1000 1500'])
    expect(servers['charts (isolated)']?.texts).toEqual(['520138 410276 470193'])
    for (const { received } of [servers.chat, servers.charts] as readonly Received[]) {
      expect(received).toContain('tools/call')
      expect(SALARIES.filter((salary) => received.includes(salary))).toEqual([])
    }
  })

  it('keeps the label over a restart, and files, handles and labels of two users apart', () => {
    const { stdout } = outcome
    const denied = readRecords(join(folder, 'work/state')).filter(({ error }) => error === 'PRIVATE_SESSION')
    expect(denied.map(({ user, session, server }) => [user, session, server])).toEqual(
      Array(3).fill(['anna', 'monday', 'chat']),
    )
    expect(stdout).toMatch(/ben's agent: payroll_list_files \{\}\n +\[\]\n/)
    expect(stdout).toMatch(/ben's agent: sallyport_read_result .*\n +There is no such result/)
    expect(stdout).toMatch(/monday +CONFIDENTIAL +anna +any .+ago +payroll: salaries\n/)
    expect(stdout).toMatch(/monday +PUBLIC +ben .*\n +tuesday +PUBLIC +anna/)
  })

  it('fits into a terminal of 80 columns, and ends as its page shows', () => {
    expect(outcome.stdout.split('\n').filter((line) => line.length > 80 && !line.includes(folder))).toEqual([])
    const [shown] = snippetsOf(PAGE, 'text')
    expect(outcome.stdout).toContain(shown?.text)
  })

  it('leaves the repository as it was', () => {
    expect(new Map(filesBelow(EXAMPLE).map((path) => [path, textOf(path)]))).toEqual(before)
  })

  it('is configured as its page shows', () => {
    const [shown] = snippetsOf(PAGE, 'yaml')
    expect(textOf(`${EXAMPLE}/home/config.yaml`)).toContain(shown?.text)
  })

  it('says what to do in a repository that is not built, and leaves a folder alone that exists', async () => {
    cpSync(join(ROOT, EXAMPLE), join(folder, EXAMPLE), { recursive: true })
    expect(await runScript(join(folder, EXAMPLE, 'run.mjs'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('npm ci && npm run build'),
    })
    expect(await runScript(join(ROOT, EXAMPLE, 'run.mjs'), [folder])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already'),
    })
  })
})
