import { Cancellation, type LoggedEvent, type PolicyFields, type SallyportEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { createCall, createTestPipeline, type TestPipelineOptions } from '../../pipeline/pipeline.test-kit.ts'
import type { Explanation } from '../gateway/gateway-client.ts'
import { COLORED, displayWidth, PLAIN } from '../terminal/terminal-text.ts'
import { explainCall } from './explain-call.ts'

const TIME = Date.parse('2026-05-01T10:00:00Z')
const LINE = { file: 'tools.yaml', line: 7, text: 'requires_approval: true', changed: '2026-04-01T00:00:00.000Z' }

/** A bench whose records are explained as the API would, ten seconds apart. */
function bench(fields: PolicyFields, options: Partial<TestPipelineOptions> = {}) {
  const entries = [{ key: 'mcp__files__weigh', line: 7, fields, lines: {} }]
  const made = createTestPipeline({ catalogues: { files: createCatalog(['weigh']) }, entries, ...options })
  const run = (args = {}) =>
    made.pipeline.run(
      createCall(made.catalog.snapshot.tool('files_weigh'), { params: { name: 'weigh', arguments: args } }),
    )
  const untilAsked = (): Promise<string> =>
    new Promise((resolve) => {
      made.approvals.onChange(({ kind, approval: { id } }) => kind === 'requested' && resolve(id))
    })
  const explain = (
    rules: Explanation['rules'] = [LINE],
    sheet = { style: PLAIN, width: undefined as number | undefined },
  ) => explainCall(callFrom(made.log.events as unknown as readonly LoggedEvent[]), rules, sheet)
  return { ...made, run, untilAsked, explain }
}

function callFrom(events: readonly LoggedEvent[]): Explanation['calls'][number] {
  const at = (index: number): string => new Date(TIME + index * 10_000).toISOString()
  const records = events.map((event, index) => ({ ...event, seq: index + 1, time: at(index) }))
  return { call_id: 'c1', trace_id: 't1', records: records as unknown as Explanation['calls'][number]['records'] }
}

describe('an explained call', () => {
  it('starts with one sentence, then shows every step and what was recorded', async () => {
    const { run, explain } = bench({ requiresApproval: false })
    await run({ path: '/tmp/a', password: 'hunter2' })
    const [head, , ...lines] = explain().split('\n')
    expect(head).toMatch(/^Allowed: files\/weigh by any \(ann\) at 2026-05-01 \S+, answered in \d+ ms\.$/)
    expect(lines.slice(0, 8).map((line) => line.slice(2, 14).trim())).toEqual(
      ['select', 'mode', 'pin', 'validate', 'label', 'arguments', 'limits', 'approve'].map((step) =>
        `✓ ${step}`.slice(0, 12),
      ),
    )
    expect(lines.join('\n')).toContain('arguments  {"path":"/tmp/a","password":"[redacted: by its name]"}')
    expect(lines.join('\n')).toMatch(/answer +\d+ bytes, about \d+ tokens/)
  })

  it('shows that it was sent twice', async () => {
    const { run, log, explain } = bench({ requiresApproval: false })
    await run()
    expect(explain()).not.toContain('twice')
    log.events.splice(-1, 1, { ...log.events.at(-1), resent: true } as LoggedEvent)
    expect(explain()).toMatch(/^sent +twice: its server had forgotten the session/m)
  })

  it('shows who approved it, which rule asked, and how long that took', async () => {
    const { approvals, run, untilAsked, explain } = bench({ requiresApproval: true })
    const asked = untilAsked()
    const answer = run()
    await approvals.answer(await asked, { answer: 'once', by: 'olga', via: 'api', why: 'fine' })
    await answer
    const text = explain()
    expect(text).toMatch(/^Allowed: .*, approved by olga after 10\.0 s, answered in \d+ ms\.$/m)
    expect(text).toMatch(/✓ approve +approved \(once\) by olga\n +tools\.yaml:7\n +requires_approval: true\n/)
    expect(text).toMatch(
      /^approval +asked at .*: A person has to approve it: its entry says requires_approval: true\.$/m,
    )
    expect(text).toMatch(/^ +approved once by olga \(over api\) after 10\.0 s: fine$/m)
  })

  it('shows that it was approved before, for the session', async () => {
    const { approvals, run, untilAsked, log, explain } = bench({ requiresApproval: true })
    const asked = untilAsked()
    const answer = run()
    await approvals.answer(await asked, { answer: 'session', by: 'olga', via: 'api' })
    await answer
    log.events.length = 0
    await run()
    expect(explain()).toMatch(/^Allowed: .*, approved earlier, answered in \d+ ms\.$/m)
    expect(explain()).toMatch(/✓ approve +approved for this session by olga/)
  })

  it('shows who denied it, and that it was not sent', async () => {
    const { approvals, run, untilAsked, explain } = bench({ requiresApproval: true })
    const asked = untilAsked()
    const answer = run()
    await approvals.answer(await asked, { answer: 'deny', by: 'olga', via: 'api', why: 'not today' })
    await answer
    expect(explain()).toMatch(/^Refused: .*, not approved by olga after 10\.0 s, and not sent to its server\.$/m)
    expect(explain()).toMatch(/\? approve +A person has to approve it/)
    expect(explain()).toMatch(/refused by olga \(over api\) after 10\.0 s: not today/)
  })

  it('that waits shows until when, and where to answer', async () => {
    const { approvals, run, untilAsked, explain } = bench({ requiresApproval: true })
    const asked = untilAsked()
    const answer = run()
    await asked
    expect(explain()).toMatch(/^Waiting: .*, somebody has to approve it by .*: `sallyport approvals`\.$/m)
    approvals.close('the test is over')
    await answer
  })

  it('that was cancelled shows that, and whether its server received it', async () => {
    const { approvals, catalog, pipeline, untilAsked, explain } = bench({ requiresApproval: true })
    const cancellation = new Cancellation()
    const asked = untilAsked()
    const answer = pipeline.run(createCall(catalog.snapshot.tool('files_weigh'), { cancellation }))
    await asked
    cancellation.cancel('the client closed the stream')
    await answer
    expect(approvals.pending).toEqual([])
    expect(explain()).toMatch(
      /^Cancelled: .*, after it had waited 10\.0 s for approval, and not sent to its server\.$/m,
    )
    expect(explain()).toMatch(/^ +Cancelled: the client closed the stream\.$/m)
  })

  it('that waited for approval when the gateway was killed is shown as not sent', async () => {
    const { approvals, run, untilAsked, log, explain } = bench({ requiresApproval: true })
    const asked = untilAsked()
    const answer = run()
    await approvals.answer(await asked, { answer: 'once', by: 'olga', via: 'api' })
    await answer
    log.events.length = 2
    expect(explain()).toMatch(/^Failed: .*, approved by olga after 10\.0 s, but the gateway ended before it was sent/m)
    log.events.length = 1
    const over = { ...log.events[0], type: 'APPROVAL_EXPIRED', reason: 'The gateway ended before anybody answered.' }
    log.events.push(over as SallyportEvent)
    expect(explain()).toMatch(
      /^Refused: .*, because the gateway ended before anybody approved it, and not sent to its server\.$/m,
    )
  })

  it('that its client gave up on was allowed, and cancelled', async () => {
    const { run, log, explain } = bench({ requiresApproval: false })
    await run()
    const ended = log.events.pop()
    const failed = {
      ...ended,
      type: 'TOOL_CALL_FAILED',
      error: 'CALL_CANCELLED',
      message: 'Cancelled.',
      latency_ms: 900,
    }
    log.events.push(failed as SallyportEvent)
    expect(explain()).toMatch(/^Allowed: .*, but it was cancelled after 900 ms\.$/m)
  })

  it('of a changed definition shows what to do', async () => {
    const { run, explain } = bench({ pin: 'sha256-other' })
    await run()
    const text = explain([{ ...LINE, text: 'pin: "sha256-other"' }])
    expect(text).toMatch(/^Refused: .*, by the step pin \(DEFINITION_CHANGED\), and not sent to its server\.$/m)
    expect(text).toMatch(/✗ pin .*\n +tools\.yaml:7\n +pin: "sha256-other"\n/)
    expect(text).toMatch(/^ {2}· skipped: validate, .*, approve$/m)
    expect(text).toMatch(/^what to do +See what has changed.*`sallyport tools accept mcp__files__weigh`\.$/m)
  })

  it('whose rules are not enforced shows what they would have done', async () => {
    const { run, explain } = bench({ allowedInModes: [], enforce: false })
    await run()
    expect(explain()).toMatch(/^Allowed: .* It would have been refused if its rules were enforced\.$/m)
    expect(explain()).toMatch(/! mode +not enforced: The mode is NORMAL/)
    expect(explain()).toMatch(/^watched +mode would have refused it: The mode is NORMAL/m)
  })

  it('names the refusal if one unenforced rule would have asked and another refused', async () => {
    const watched = { requiresApproval: true, enforce: false } as const
    const { run, explain } = bench({ ...watched, arguments: { fields: { a: { forbidden: true } }, denyPatterns: [] } })
    await run({ a: 1 })
    expect(explain()).toMatch(/^watched +arguments would have refused it: The argument a may not be given/m)
  })

  it('notes that a file was changed since, and that a line is gone', async () => {
    const { run, explain } = bench({ requiresApproval: false })
    await run()
    expect(explain()).not.toContain('changed since')
    expect(explain([{ ...LINE, changed: '2026-05-02T00:00:00.000Z' }])).toMatch(
      /requires_approval: true\n +\(the file was changed since, at 2026-05-02 /,
    )
    expect(explain([{ file: 'tools.yaml', line: 7 }])).toMatch(/tools\.yaml:7\n +\(that line is no longer there\)/)
  })

  it('makes hostile text harmless, with and without colors, and fits a terminal', async () => {
    const { run, log } = bench({ requiresApproval: false })
    const evil = '\u001b[2J\u202eevil\r\nAllowed: forged'
    await run({ [evil]: `${evil} ${'word '.repeat(90)}` })
    const forged = JSON.parse(JSON.stringify(log.events)) as Record<string, unknown>[]
    for (const event of forged) Object.assign(event, { agent: evil, tool_name: evil, session: evil, method: evil })
    const rules = [{ ...LINE, text: evil }]
    const call = callFrom(forged as unknown as readonly LoggedEvent[])
    for (const width of [80, 120, undefined]) {
      const text = explainCall(call, rules, { style: PLAIN, width })
      for (const char of ['\u001b', '\u202e', '\r']) expect(text).not.toContain(char)
      expect(text.match(/^Allowed: /gm)).toHaveLength(1)
      const tooWide = text.split('\n').filter((line) => displayWidth(line) > (width ?? Number.POSITIVE_INFINITY))
      // JSON has no words to break at.
      expect(tooWide.filter((line) => !line.includes('": "'))).toEqual([])
    }
    expect(explainCall(call, rules, { style: COLORED, width: 80 })).not.toContain('\u001b[2J')
  })
})
