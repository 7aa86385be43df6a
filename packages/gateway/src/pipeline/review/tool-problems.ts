import { isNameGlob, type JsonObject, type ParsedToolsFile, quoteForShell } from '@sallyport/core'
import { type Offer, reviewName } from '../../catalog/catalog.ts'
import type { ToolsEditor } from '../../governance/governance.ts'
import type { ReviewedTool } from './reviewed-tool.ts'
import type { UnmatchedEntry } from './unmatched-entries.ts'
import { isRestricting, type UnmatchedPattern } from './unmatched-patterns.ts'
import { findUnmatchedRules } from './unmatched-rules.ts'

export const PROBLEM_KINDS = ['invalid', 'no-entry', 'drift', 'no-effect', 'duplicate', 'suspicious'] as const

/** Something about a tool, or about tools.yaml, that a person should check. */
export interface ToolProblem {
  readonly kind: (typeof PROBLEM_KINDS)[number]
  /** With `wrong`, `sallyport tools check` fails. */
  readonly level: 'wrong' | 'warning'
  /** The canonical name, if the problem is about one tool. */
  readonly tool?: string
  readonly problem: string
  readonly fix: string
}

export interface ProblemSources {
  readonly editor: Pick<ToolsEditor, 'file' | 'unusableReason' | 'issue' | 'warnings' | 'notWritten'>
  /** The tools of servers. */
  readonly tools: readonly Offer[]
  /** Their prompts, resources, templates and instructions. */
  readonly others: readonly Offer[]
  readonly reviewOf: (offer: Offer) => ReviewedTool
  /** The rules of an offer that are invalid. */
  readonly problemsOf: (offer: Offer) => readonly string[]
  /** Why the `result` of an entry is invalid; `undefined` if it is valid. */
  readonly findPresetProblem: (wanted: string | JsonObject) => string | undefined
  /** Problems in the server entries of config.yaml that show only when the tools are known. */
  readonly serverProblems: readonly string[]
  /** Entries that match nothing. */
  readonly unmatchedEntries: readonly UnmatchedEntry[]
  /** Patterns that match nothing. */
  readonly unmatchedPatterns: readonly UnmatchedPattern[]
}

export function collectToolProblems(sources: ProblemSources): readonly ToolProblem[] {
  const {
    editor,
    tools,
    others,
    reviewOf,
    problemsOf,
    findPresetProblem,
    unmatchedEntries,
    unmatchedPatterns,
    serverProblems,
  } = sources
  // Other problems would be about the content of a file that cannot be read.
  if (editor.unusableReason !== undefined) return aboutFile(editor)
  const reviewed = tools.map((offer) => ({ offer, review: reviewOf(offer) }))
  const overShare = new Set(reviewed.filter(({ review }) => review.findings.some(isAboutShare)))
  const ofTools = reviewed
    .filter((one) => !overShare.has(one) || one.review.pin === 'changed')
    .flatMap(({ offer, review }) => aboutTool(offer, review, editor))
  return [
    ...aboutFile(editor),
    ...aboutPresets(editor.file, findPresetProblem),
    ...aboutRules(tools.flatMap(problemsOf)),
    ...aboutServers(serverProblems),
    ...aboutUnmatchedEntries(editor.file, unmatchedEntries),
    ...aboutUnmatchedPatterns(unmatchedPatterns),
    ...aboutShares(
      [...overShare].map(({ offer }) => offer),
      editor.file,
    ),
    ...ofTools,
    ...others.flatMap((offer) => aboutOther(offer, reviewOf(offer))),
  ]
}

const isAboutShare = (finding: string): boolean => finding.startsWith('share in ')

/** One problem for each server, since there may be thousands of tools. */
function aboutShares(offers: readonly Offer[], { path }: ParsedToolsFile): readonly ToolProblem[] {
  const counts = new Map<string, number>()
  for (const { server } of offers) counts.set(server, (counts.get(server) ?? 0) + 1)
  return [...counts].map(([server, count]) => ({
    ...{ kind: 'no-entry', level: 'wrong' },
    problem: `${count} tools of ${server} have no entry in ${path}: their server has used up its share, or adds them too fast. Each of their calls asks a person.`,
    fix: 'Remove entries of tools that are gone, write entries yourself, or accept single tools: sallyport tools accept',
  }))
}

/** For offers that are not tools. They have no entry: their pins are in the state. */
function aboutOther(offer: Offer, { pin, openFindings }: ReviewedTool): readonly ToolProblem[] {
  const name = reviewName(offer)
  const fix = `See it, and accept it: sallyport tools accept ${quoteForShell(name)}`
  const drift: ToolProblem = {
    ...{ kind: 'drift', level: 'wrong', tool: name, fix },
    problem: `${name} is not what was first seen or accepted: its server changed it. It is refused, and shown as it was.`,
  }
  return [...(pin === 'changed' ? [drift] : []), ...aboutFindings(name, openFindings, openFindings)]
}

function aboutFindings(
  name: string,
  findings: readonly string[],
  openFindings: readonly string[],
): readonly ToolProblem[] {
  const show = `sallyport tools show ${quoteForShell(name)}`
  const accept = `Each use asks a person until somebody accepts it: sallyport tools accept ${quoteForShell(name)}`
  return findings.map((finding) => ({
    ...{ kind: 'suspicious', level: 'warning', tool: name, problem: `${name}: ${finding}` },
    fix: openFindings.includes(finding) ? accept : `Read its definition before you let anybody use it: ${show}`,
  }))
}

function aboutUnmatchedEntries(
  { path }: ParsedToolsFile,
  unmatched: readonly UnmatchedEntry[],
): readonly ToolProblem[] {
  const fix = 'Correct the name, or remove the entry: it has no effect.'
  return unmatched.map(({ entry, problem, isMisspelled }) => ({
    ...{ kind: 'no-effect', level: isMisspelled && isRestricting(entry.fields) ? 'wrong' : 'warning', fix },
    problem: `${path}:${entry.line}: ${problem}`,
  }))
}

const aboutServers = (problems: readonly string[]): readonly ToolProblem[] =>
  problems.map((problem) => ({ kind: 'invalid', level: 'wrong', problem, fix: 'Correct it in config.yaml.' }))

function aboutUnmatchedPatterns(unmatched: readonly UnmatchedPattern[]): readonly ToolProblem[] {
  return unmatched.map(({ location, problem, leavesOpen }) => ({
    ...{ kind: 'no-effect', level: leavesOpen ? 'wrong' : 'warning' },
    problem: `${location.file}:${location.line}: ${problem}`,
    fix: leavesOpen ? 'Correct it: the tools that it should restrict are not restricted.' : 'Correct it, or remove it.',
  }))
}

/** Without duplicates: an entry for several tools has the same problem for each of them. */
const aboutRules = (problems: readonly string[]): readonly ToolProblem[] =>
  [...new Set(problems)].map((problem) => ({ kind: 'invalid', level: 'wrong', problem, fix: 'Correct that pattern.' }))

function aboutPresets(
  { path, entries }: ParsedToolsFile,
  findPresetProblem: ProblemSources['findPresetProblem'],
): readonly ToolProblem[] {
  return entries.flatMap(({ fields: { result }, line, lines }): readonly ToolProblem[] => {
    const invalid = result === undefined ? undefined : findPresetProblem(result)
    if (invalid === undefined) return []
    const problem = `${path}:${lines.result ?? line}: result: ${invalid} Until then the preset "default" is used.`
    return [{ kind: 'invalid', level: 'wrong', problem, fix: 'Name a preset of config.yaml, or write its numbers.' }]
  })
}

function aboutFile({ file, issue, warnings }: ProblemSources['editor']): readonly ToolProblem[] {
  const misspelt = file.entries.flatMap(({ lines }) => (lines.misspelt ? `${file.path}:${lines.misspelt}:` : []))
  const suspect = warnings.map((problem): ToolProblem => {
    if (misspelt.some((location) => problem.startsWith(location)))
      return { kind: 'invalid', level: 'wrong', problem, fix: 'Correct that key: it may isolate or restrict.' }
    return { kind: 'no-effect', level: 'warning', problem, fix: 'Check that line.' }
  })
  if (issue === undefined) return suspect
  const fix = 'Correct the file; it is in force as soon as it is saved.'
  return [{ kind: 'invalid', level: 'wrong', problem: issue, fix }, ...suspect]
}

function aboutTool(
  offer: Offer,
  { pin, policy, hasOwnEntry, entries, findings, openFindings }: ReviewedTool,
  { file, notWritten }: ProblemSources['editor'],
): readonly ToolProblem[] {
  const { recordName: tool } = offer
  const problems: ToolProblem[] = []
  if (!hasOwnEntry) {
    // Only its own reason: with all reasons for each tool, a hostile server could make this text grow quadratically.
    const why = notWritten.find((reason) => reason.startsWith(`${tool} has no entry: `)) ?? notWritten[0]
    const problem = `${tool} has no entry in ${file.path}.${why === undefined ? '' : ` ${why}`}`
    const fix =
      why === undefined
        ? 'The gateway writes one when it starts: review it, then commit the file.'
        : 'Fix that, or write an entry yourself, under any of its names.'
    problems.push({ kind: 'no-entry', level: 'wrong', tool, problem, fix })
  }
  if (pin === 'changed') {
    const isOne = new Set(policy.pin.map(({ value }) => value)).size === 1
    const what = isOne ? 'its server changed the definition' : 'its entries pin different definitions'
    const problem = `${tool} is not what was reviewed: ${what}. Calls are refused.`
    const fix = `See what changed, and accept it: sallyport tools accept ${quoteForShell(tool)}`
    problems.push({ kind: 'drift', level: 'wrong', tool, problem, fix })
  }
  const own = entries.filter(({ key }) => !isNameGlob(key))
  if (own.length > 1) {
    const found = own.map(({ key, line }) => `${key} (line ${line})`).join(', ')
    const problem = `${tool} has ${own.length} entries in ${file.path}: ${found}. The strictest value of each field is used.`
    problems.push({ kind: 'duplicate', level: 'warning', tool, problem, fix: 'Merge them into one entry.' })
  }
  problems.push(...findUnmatchedRules(offer, { own, policy, path: file.path }))
  problems.push(...aboutFindings(tool, findings, openFindings))
  return problems
}
