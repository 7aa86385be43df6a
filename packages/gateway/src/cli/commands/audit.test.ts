import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallFacts, LoggedEvent, SallyportEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../store/store.ts'
import { formatEventDetail } from '../audit/event-detail.ts'
import { formatEventLine } from '../audit/event-line.ts'
import { cli, scratchFolder, type TestHome } from '../cli.test-kit.ts'
import { COLORED, displayWidth, PLAIN } from '../terminal/terminal-text.ts'

const FACTS: CallFacts = {
  call_id: 'c1',
  trace_id: 't1',
  user: 'me',
  agent: 'codex',
  profile: 'default',
  session: 's1',
  server: 'shell',
  method: 'tools/call',
  tool_name: 'mcp__shell__run',
  is_mcp: true,
}
const BY = { by: 'me', via: 'cli' } as const

const EVENTS: readonly SallyportEvent[] = [
  { type: 'APPROVAL_REQUESTED', ...FACTS, approval: 'a1', reason: 'high risk', expires: '2026-05-01T10:00:00Z' },
  { type: 'APPROVAL_ANSWERED', ...FACTS, ...BY, approval: 'a1', answer: 'once' },
  { type: 'TOOL_CALL_STARTED', ...FACTS, steps: {}, approval: 'a1' },
  { type: 'TOOL_CALL_COMPLETED', ...FACTS, success: false, latency_ms: 3, bytes: 10 },
  { type: 'APPROVAL_ANSWERED', ...FACTS, ...BY, approval: 'a2', answer: 'deny', why: 'not today' },
  { type: 'POLICY_DENIED', ...FACTS, steps: {}, error: 'APPROVAL_DENIED', message: 'no' },
  { type: 'APPROVAL_EXPIRED', ...FACTS, approval: 'a3', reason: 'nobody answered' },
  { type: 'POLICY_DENIED', ...FACTS, steps: {}, error: 'APPROVAL_EXPIRED', message: 'too late' },
  { type: 'MODE_CHANGED', from: 'NORMAL', to: 'ALERT', why: 'a problem', ...BY },
  { type: 'TOOLS_WRITTEN', file: 'tools.yaml', tools: ['mcp__shell__run'], count: 1 },
  { type: 'TOOLS_FILE_RELOADED', file: 'tools.yaml', entries: 3 },
  { type: 'TOOLS_FILE_REJECTED', file: 'tools.yaml', message: 'line 3' },
  { type: 'PIN_CHANGED', tool_name: 'mcp__shell__run', from: 'p1', to: 'p2', ...BY },
  { type: 'DEFINITION_DRIFTED', server: 'shell', tool_name: 'mcp__shell__run', pin: 'p1', now: 'p2' },
  { type: 'LOG_TRIMMED', files: 2, bytes: 99, through: 7 },
]

async function recorded(events = EVENTS): Promise<TestHome & { readonly log: string }> {
  const folder = scratchFolder()
  const state = join(folder, 'state')
  const store = openStore({ state, durability: 'process' })
  for (const event of events) store.log.append(event)
  await store.close()
  return { home: folder, state, log: join(state, 'logs', 'events-000000000001.jsonl') }
}

const objects = (out: string): readonly LoggedEvent[] =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

describe('audit verify', () => {
  it('prints a summary and the head, which later proves the log', async () => {
    const at = await recorded()
    const first = await cli(['audit', 'verify'], { at })
    expect(first).toMatchObject({ exit: 0, stderr: expect.stringContaining('The log is unchanged.') })
    expect(first.stdout).toMatch(/^records +15 in 1 file\nfirst +1, \d{4}.*\nlast +15, \d{4}.*\nhead +[0-9a-f]{64}\n/)
    const head = /[0-9a-f]{64}/.exec(first.stdout)?.[0] ?? ''
    const store = openStore({ state: at.state, durability: 'process' })
    store.log.append({ type: 'GATEWAY_STOPPED', reason: 'x' })
    await store.close()
    const later = await cli(['audit', 'verify', '--head', head.toUpperCase()], { at })
    expect(later).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^noted head +record 15: /m) })
    const json = await cli(['audit', 'verify', '--json'], { at })
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, records: 16, files: 1, head: { seq: 16 }, problems: [] })
    expect(json.stderr).toBe('')
  })

  it('exits with 6 and names the file and the record that were altered', async () => {
    const at = await recorded()
    writeFileSync(at.log, readFileSync(at.log, 'utf8').replace('not today', 'tomorrow!'))
    const found = await cli(['audit', 'verify'], { at })
    expect(found).toMatchObject({
      exit: 6,
      stderr: expect.stringMatching(/LOG_ALTERED .*1\.jsonl: record 5 was altered\./),
    })
    expect(found.stdout).toMatch(/^problem +events-000000000001.jsonl: record 5 was altered$/m)
    const json = await cli(['audit', 'verify', '--json'], { at })
    expect(json.exit).toBe(6)
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, problems: [{ seq: 5 }] })
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'LOG_ALTERED' } })
  })

  it('detects with a stored head that everything was rewritten', async () => {
    const [at, other] = [await recorded(), await recorded(EVENTS.slice(1))]
    const { head } = JSON.parse((await cli(['audit', 'verify', '--json'], { at: other })).stdout)
    expect(await cli(['audit', 'verify', '--head', head.chain], { at })).toMatchObject({
      exit: 6,
      stderr: expect.stringContaining('The log does not contain the head'),
    })
  })

  it('works on a state that does not exist, and changes nothing in one that does', async () => {
    const none = join(scratchFolder(), 'none')
    expect(await cli(['audit', 'verify', '--state', none])).toMatchObject({
      exit: 0,
      stderr: 'There are no records.\n',
    })
    const at = await recorded()
    writeFileSync(at.log, '{"seq":16', { flag: 'a' })
    const before = [readFileSync(at.log), readdirSync(at.state)]
    expect(await cli(['audit', 'verify'], { at })).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('unfinished'),
    })
    expect([readFileSync(at.log), readdirSync(at.state)]).toEqual(before)
  })

  it('reports a log that cannot be read', async () => {
    const at = await recorded()
    mkdirSync(join(at.state, 'logs', 'events-000000000099.jsonl'))
    expect(await cli(['audit', 'verify'], { at })).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('STATE_UNUSABLE'),
    })
    chmodSync(at.log, 0o600)
  })

  it.each([
    [['audit', 'verify', '--head', 'abc'], '"abc" is not a valid head'],
    [['audit', 'verfy'], 'verfy'],
    [['audit', 'export', '--type', 'MODE_CHANGD'], 'Did you mean "MODE_CHANGED"?'],
  ])('%j exits with 2', async (args, message) => {
    expect(await cli(args, { at: await recorded() })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(message),
    })
  })
})

describe('audit export', () => {
  it('prints all matching records exactly as they are in the log', async () => {
    const at = await recorded()
    expect(await cli(['audit', 'export'], { at })).toEqual({
      exit: 0,
      stdout: readFileSync(at.log, 'utf8'),
      stderr: '15 records.\n',
    })
    const some = await cli(['audit', 'export', '--json', '--agent', 'codex', '--type', 'POLICY_DENIED'], { at })
    expect(objects(some.stdout).map(({ seq }) => seq)).toEqual([6, 8])
    const none = await cli(['audit', 'export', '--until', '1h'], { at })
    expect(none).toEqual({ exit: 0, stdout: '', stderr: '0 records.\n' })
  })

  it('has no limit', async () => {
    const at = await recorded(Array.from({ length: 12_000 }, () => ({ type: 'GATEWAY_STOPPED', reason: 'x' })))
    expect(objects((await cli(['audit', 'export', '--verdict', 'deny'], { at })).stdout)).toHaveLength(0)
    expect(objects((await cli(['audit', 'export'], { at })).stdout)).toHaveLength(12_000)
  })
})

describe('a verdict', () => {
  it.each([
    ['allow', [3, 4]],
    ['ask', [1]],
    ['approved', [2]],
    ['expired', [7, 8]],
    ['deny', [5, 6, 8]],
    ['failed', [4]],
  ])('of "%s" finds its records', async (verdict, seqs) => {
    const { stdout } = await cli(['audit', '--verdict', verdict, '--json'], { at: await recorded() })
    expect(objects(stdout).map(({ seq }) => seq)).toEqual(seqs)
  })
})

const READER = { style: PLAIN, width: undefined, now: new Date('2026-05-01T12:00:00Z') }

describe('audit list', () => {
  const LONG: SallyportEvent = {
    ...{ type: 'POLICY_DENIED', ...FACTS, steps: {}, call_id: 'c0123456789abcde', agent: 'claude-code' },
    ...{ tool_name: `mcp__shell__${'日本'.repeat(12)}`, error: 'CALL_DENIED', message: 'because '.repeat(20).trim() },
  }
  const events = [...EVENTS, LONG]
  const SGR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')
  const linesAt = async (columns?: number): Promise<readonly string[]> => {
    const { stdout } = await cli(['audit'], { at: await recorded(events), ...(columns !== undefined && { columns }) })
    return stdout.replaceAll(SGR, '').split('\n').slice(0, -1)
  }

  it.each([20, 60, 80, 100, 200])('truncates each line to a terminal of %i columns', async (columns) => {
    const lines = await linesAt(columns)
    expect(lines).toHaveLength(events.length + 1)
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns)
    expect(lines.at(-1)).toContain('…')
    expect(lines.at(-1)).toMatch(/^\d\d:\d\d:\d\d {2}POLICY/)
  })

  it('shows time, event, tool, agent and reason before all else', async () => {
    expect((await linesAt(100))[0]).toMatch(/^TIME +EVENT +SUBJECT +AGENT +DETAIL$/)
    expect((await linesAt(100)).at(-1)).toMatch(
      /POLICY_DENIED +mcp__shell__日.*… +claude-code +CALL_DENIED: because.*…$/,
    )
    expect((await linesAt(160))[0]).toMatch(/DETAIL +CALL$/)
  })

  it('does not truncate lines if the output is not a terminal', async () => {
    const last = (await linesAt()).at(-1)
    for (const part of [LONG.tool_name, LONG.message, LONG.call_id]) expect(last).toContain(part)
    expect(last).toMatch(/^\d{4}-\d\d-\d\d \d\d:/)
  })

  it('truncates followed events too, and never within a color sequence', () => {
    const event = { seq: 1, time: '2026-04-30T10:00:00Z', ...LONG }
    for (let width = 1; width < 120; width++) {
      const line = formatEventLine(event, { ...READER, style: COLORED, width }).slice(0, -1)
      const plain = line.replaceAll(SGR, '')
      expect(displayWidth(plain)).toBeLessThanOrEqual(width)
      expect(plain).not.toContain(String.fromCharCode(27))
      expect(line.match(SGR)?.length ?? 0).toBe(width > 18 ? 2 : 0)
    }
  })
})

describe('a line of the table', () => {
  it.each(EVENTS.map((event) => [event.type, event] as const))('has a text for %s', (_type, event) => {
    const line = formatEventLine({ seq: 1, time: '2026-05-01T10:00:00Z', ...event }, READER)
    expect(line).not.toContain('undefined')
    if (event.type !== 'TOOL_CALL_STARTED') expect(formatEventDetail({ seq: 1, time: '', ...event })).not.toBe('')
  })

  it('is empty for a type of event that a newer version wrote', () => {
    const event = { seq: 1, time: '', type: 'toString' } as unknown as LoggedEvent
    expect(formatEventDetail(event)).toBe('')
  })
})

describe('a verdict that few records have', () => {
  it('is found among any number of other records', async () => {
    const completed = (success: boolean): SallyportEvent => ({
      ...{ type: 'TOOL_CALL_COMPLETED', ...FACTS, success },
      ...{ latency_ms: 3, bytes: 10 },
    })
    const others = Array.from({ length: 10_000 }, () => completed(true))
    const at = await recorded([completed(false), completed(false), ...others])
    const all = await cli(['audit', '--verdict', 'failed', '--json'], { at })
    expect(objects(all.stdout).map(({ seq }) => seq)).toEqual([1, 2])
    const newest = await cli(['audit', '--verdict', 'failed', '--limit', '1', '--json'], { at })
    expect(objects(newest.stdout).map(({ seq }) => seq)).toEqual([2])
    const none = await cli(['audit', '--verdict', 'would-deny'], { at })
    expect(none).toMatchObject({ exit: 0, stderr: 'No record matches.\n' })
  })
})

it('an unknown event type is refused, with a list of the known ones', async () => {
  const at = await recorded()
  for (const command of [['audit'], ['audit', 'export']]) {
    const { exit, stderr } = await cli([...command, '--type', 'POLICY_DENY'], { at })
    expect(exit).toBe(2)
    expect(stderr).toMatch(
      /There is no event type "POLICY_DENY"\. Did you mean "POLICY_DENIED"\?\n +There are TOOL_CALL_STARTED, /,
    )
  }
})
