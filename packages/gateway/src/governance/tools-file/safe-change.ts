import { createFileIssue } from './file-issue.ts'
import { type ParsedFile, type ParseResult, parseChanged } from './parsed-file.ts'
import { type Intent, matchesIntent } from './same-meaning.ts'
import { applySplices, type EditResult, type Splice } from './splice.ts'

export interface PlannedChange {
  readonly file: ParsedFile
  readonly intent: Intent
  /** Ways to write it, the preferred one first. */
  readonly attempts: readonly (readonly Splice[])[]
}

/** The first way after which the file, read again, says what it said and what was meant; else it is left alone. */
export function changeSafely({ file, intent, attempts }: PlannedChange): EditResult {
  for (const splices of attempts) {
    const text = applySplices(file.source.text, splices)
    const parsing = parseChanged(text, file, splices[0]?.at ?? 0)
    if (!parsing.ok || !matchesIntent(file, parsing.file, intent)) continue
    return { ok: true, text, splices, skipped: [], parsing }
  }
  return { ok: false, why: 'it is written so that nothing can be added here without changing what else it says' }
}

/** Why a file that cannot be parsed is left alone. */
export function refuseUnparsed({ source, problem }: Extract<ParseResult, { ok: false }>): EditResult {
  const { line, column, problem: told } = createFileIssue(source, problem.offset, problem.problem)
  return { ok: false, why: `it cannot be read: line ${line}, column ${column}: ${told}` }
}
