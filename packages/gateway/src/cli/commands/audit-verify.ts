import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { type LogReport, verifyLog } from '../../store/store.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { resolveState } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { formatLocalTime } from '../terminal/local-time.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import type { Fact } from '../terminal/table.ts'

interface VerifyFlags {
  readonly head?: string
}

const SHOWN_PROBLEMS = 10

export const verifyCommand = defineCommand<VerifyFlags>({
  brief: 'Prove that no record was removed, altered, inserted or moved',
  description:
    'Reads the files of the log, whether a gateway runs or not. Exits with 6 when something is wrong.\n' +
    'Anyone who can write these files can also rewrite all of them: store the head elsewhere, and check it with --head.',
  examples: [
    ['audit verify', 'Verify the whole log, and print its head'],
    ['audit verify --head 9f86d081884c7d65…', 'And prove that it contains a head that was stored before'],
  ],
  flags: {
    head: {
      kind: 'parsed',
      parse: parseHead,
      optional: true,
      placeholder: 'hash',
      brief: 'A head that was stored before: the log must contain it',
    },
  },
  run: verify,
})

async function verify(context: CliContext, flags: VerifyFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const folder = join(resolveState(context, flags), 'logs')
  const { head: noted } = flags
  const { signal } = context
  const report = await verifyLog({ folder, signal, ...(noted !== undefined && { noted }) })
  const problem = findLogProblem(report, noted)
  if (screen.json) screen.printJson({ ok: problem === undefined, ...report })
  else show(screen, report)
  if (problem !== undefined) throw problem
  if (!screen.json) screen.printMessage(verdictText(report))
}

function findLogProblem({ problems, problemCount, notedAt, trimmedThrough }: LogReport, noted: string | undefined) {
  const [first] = problems
  if (first !== undefined) {
    const others =
      problemCount === 1
        ? ''
        : ` There ${problemCount === 2 ? 'is 1 other problem' : `are ${problemCount - 1} other problems`}.`
    return new SallyportError('LOG_ALTERED', `${first.file}: ${first.what}.${others}`, {
      hint: 'Compare it with a copy of the log. All other records are unchanged.',
    })
  }
  if (noted === undefined || notedAt !== undefined) return undefined
  const trimmed =
    trimmedThrough === undefined
      ? ''
      : `, unless it belongs to one of the ${trimmedThrough} records that retention removed`
  return new SallyportError('LOG_ALTERED', `The log does not contain the head ${noted}: it was rewritten${trimmed}.`, {
    hint: 'Compare it with a copy of the log.',
  })
}

function show(screen: Screen, report: LogReport): void {
  const { records, files, first, last, head, problems, problemCount, notedAt } = report
  screen.printFacts([
    { name: 'records', value: `${records} in ${files} ${files === 1 ? 'file' : 'files'}` },
    { name: 'first', value: first && `${first.seq}, ${formatLocalTime(first.time)}` },
    { name: 'last', value: last && `${last.seq}, ${formatLocalTime(last.time)}` },
    { name: 'head', value: head?.chain },
    {
      name: 'noted head',
      value: notedAt === undefined ? undefined : `record ${notedAt}: nothing up to there has changed`,
    },
    ...remarks(report).map((value) => ({ name: 'note', value })),
    ...problems
      .slice(0, SHOWN_PROBLEMS)
      .map(({ file, what }): Fact => ({ name: 'problem', value: `${file}: ${what}` })),
  ])
  if (problemCount > SHOWN_PROBLEMS)
    screen.printMessage(`… and ${problemCount - SHOWN_PROBLEMS} more; --json lists the first 100.`)
}

function remarks({ first, records, chainedFrom, trimmedThrough, unfinished }: LogReport): readonly string[] {
  const notes: string[] = []
  if (trimmedThrough !== undefined) notes.push(`records up to ${trimmedThrough} were removed by retention`)
  if (records > 0 && chainedFrom === undefined)
    notes.push('no record is chained: an older version wrote them, and nothing proves them')
  if (first && chainedFrom !== undefined && chainedFrom > first.seq)
    notes.push(`the chain begins with record ${chainedFrom}; nothing proves those before it`)
  if (unfinished.records > 0 || unfinished.bytes > 0)
    notes.push(
      `the end is unfinished (${unfinished.records} records, ${unfinished.bytes} bytes): it is being written, or was cut short by a crash`,
    )
  return notes
}

function verdictText({ records, chainedFrom }: LogReport): string {
  if (records === 0) return 'There are no records.'
  if (chainedFrom === undefined) return 'There is nothing to verify.'
  return 'The log is unchanged. Store the head elsewhere: anyone who can write these files can also rewrite all of them.'
}

function parseHead(typed: string): string {
  const head = typed.toLowerCase()
  if (/^[0-9a-f]{64}$/.test(head)) return head
  throw new SallyportError(
    'USAGE',
    `"${typed}" is not a valid head; expected the 64 hexadecimal digits that \`audit verify\` prints.`,
  )
}
