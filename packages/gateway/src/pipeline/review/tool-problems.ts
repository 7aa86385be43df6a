import { isNameGlob, type JsonObject, type ParsedToolsFile, type PolicyField, quoteForShell } from '@sallyport/core'
import { type Offer, reviewName } from '../../catalog/catalog.ts'
import type { ToolsEditor } from '../../governance/governance.ts'
import type { ReviewedTool } from './reviewed-tool.ts'
import type { UnmatchedEntry } from './unmatched-entries.ts'
import { isRestricting, type UnmatchedPattern } from './unmatched-patterns.ts'
import { findUnmatchedRules } from './unmatched-rules.ts'

export const PROBLEM_KINDS = ['invalid', 'unwritten', 'drift', 'odd', 'doubled', 'suspicious'] as const

/** Something about a tool, or about tools.yaml, that a person should look at. */
export interface ToolProblem {
  readonly kind: (typeof PROBLEM_KINDS)[number]
  /** What is wrong keeps a check from passing. */
  readonly level: 'wrong' | 'warning'
  /** The canonical name, where it is about one tool. */
  readonly tool?: string
  readonly problem: string
  readonly fix: string
}

export interface ProblemSources {
  readonly editor: Pick<ToolsEditor, 'file' | 'unusableReason' | 'issue' | 'warnings' | 'notWritten'>
  /** Those of servers. */
  readonly tools: readonly Offer[]
  /** Their prompts, resources, templates and instructions. */
  readonly others: readonly Offer[]
  readonly reviewOf: (offer: Offer) => ReviewedTool
  /** What of its rules cannot be followed. */
  readonly problemsOf: (offer: Offer) => readonly string[]
  /** Why what an entry says of results cannot be followed. */
  readonly findPresetProblem: (wanted: string | JsonObject) => string | undefined
  /** What is wrong with the entries of servers in config.yaml, now that their tools are known. */
  readonly serverProblems: readonly string[]
  /** Entries that are about nothing. */
  readonly unmatchedEntries: readonly UnmatchedEntry[]
  /** Patterns that fit nothing. */
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
  // Whatever else could be said of tools would be said of a file that nobody can read.
  if (editor.unusableReason !== undefined) return aboutFile(editor)
  const reviewed = tools.map((offer) => ({ offer, review: reviewOf(offer) }))
  const beyond = new Set(reviewed.filter(({ review }) => review.findings.some(isAboutShare)))
  const ofTools = reviewed
    .filter((one) => !beyond.has(one) || one.review.pin === 'changed')
    .flatMap(({ offer, review }) => aboutTool(offer, review, editor))
  return [
    ...aboutFile(editor),
    ...aboutPresets(editor.file, findPresetProblem),
    ...aboutRules(tools.flatMap(problemsOf)),
    ...aboutServers(serverProblems),
    ...aboutUnmatchedEntries(editor.file, unmatchedEntries),
    ...aboutUnmatchedPatterns(unmatchedPatterns),
    ...aboutShares(
      [...beyond].map(({ offer }) => offer),
      editor.file,
    ),
    ...ofTools,
    ...others.flatMap((offer) => aboutOther(offer, reviewOf(offer))),
  ]
}

const isAboutShare = (finding: string): boolean => finding.startsWith('share in ')

/** One for each server: it may be thousands of tools. */
function aboutShares(beyond: readonly Offer[], { path }: ParsedToolsFile): readonly ToolProblem[] {
  const counts = new Map<string, number>()
  for (const { server } of beyond) counts.set(server, (counts.get(server) ?? 0) + 1)
  return [...counts].map(([server, count]) => ({
    ...{ kind: 'unwritten', level: 'wrong' },
    problem: `${count} tools of ${server} have no entry in ${path}: their server has used up its share, or adds them too fast. Each of their calls asks a person.`,
    fix: 'Remove entries of tools that are gone, write entries yourself, or accept single tools: sallyport tools accept',
  }))
}

/** Of what has no entry: its pin is in the state. */
function aboutOther(offer: Offer, { pin, doubts }: ReviewedTool): readonly ToolProblem[] {
  const name = reviewName(offer)
  const fix = `See it, and accept it: sallyport tools accept ${quoteForShell(name)}`
  const drift: ToolProblem = {
    ...{ kind: 'drift', level: 'wrong', tool: name, fix },
    problem: `${name} is not what was first seen or accepted: its server changed it. It is refused, and shown as it was.`,
  }
  return [...(pin === 'changed' ? [drift] : []), ...aboutFindings(name, doubts, doubts)]
}

function aboutFindings(name: string, findings: readonly string[], doubts: readonly string[]): readonly ToolProblem[] {
  const show = `sallyport tools show ${quoteForShell(name)}`
  const accept = `Each use asks a person until somebody accepts it: sallyport tools accept ${quoteForShell(name)}`
  return findings.map((finding) => ({
    ...{ kind: 'suspicious', level: 'warning', tool: name, problem: `${name}: ${finding}` },
    fix: doubts.includes(finding) ? accept : `Read its definition before you let anybody use it: ${show}`,
  }))
}

function aboutUnmatchedEntries({ path }: ParsedToolsFile, idle: readonly UnmatchedEntry[]): readonly ToolProblem[] {
  const fix = 'Correct the name, or remove the entry: nothing follows from it.'
  return idle.map(({ entry, problem, isMisspelled }) => ({
    ...{ kind: 'odd', level: isMisspelled && isRestricting(entry.fields) ? 'wrong' : 'warning', fix },
    problem: `${path}:${entry.line}: ${problem}`,
  }))
}

const aboutServers = (flaws: readonly string[]): readonly ToolProblem[] =>
  flaws.map((problem) => ({ kind: 'invalid', level: 'wrong', problem, fix: 'Correct it in config.yaml.' }))

function aboutUnmatchedPatterns(unmatched: readonly UnmatchedPattern[]): readonly ToolProblem[] {
  return unmatched.map(({ location, problem, leavesOpen }) => ({
    ...{ kind: 'odd', level: leavesOpen ? 'wrong' : 'warning' },
    problem: `${location.file}:${location.line}: ${problem}`,
    fix: leavesOpen ? 'Correct it: what it was to restrict is open.' : 'Correct it, or remove it.',
  }))
}

/** An entry for several tools has the same flaw for each of them. */
const aboutRules = (flaws: readonly string[]): readonly ToolProblem[] =>
  [...new Set(flaws)].map((problem) => ({ kind: 'invalid', level: 'wrong', problem, fix: 'Correct that pattern.' }))

function aboutPresets(
  { path, entries }: ParsedToolsFile,
  flawOf: ProblemSources['findPresetProblem'],
): readonly ToolProblem[] {
  return entries.flatMap(({ fields: { result }, line, lines }): readonly ToolProblem[] => {
    const flaw = result === undefined ? undefined : flawOf(result)
    if (flaw === undefined) return []
    const problem = `${path}:${lines.result ?? line}: result: ${flaw} Until then the preset "default" counts.`
    return [{ kind: 'invalid', level: 'wrong', problem, fix: 'Name a preset of config.yaml, or write its numbers.' }]
  })
}

function aboutFile({ file, issue, warnings }: ProblemSources['editor']): readonly ToolProblem[] {
  const misspelt = file.entries.flatMap(({ lines }) => (lines.misspelt ? `${file.path}:${lines.misspelt}:` : []))
  const odd = [...warnings, ...findNotEnforced(file)].map((problem): ToolProblem => {
    if (misspelt.some((place) => problem.startsWith(place)))
      return { kind: 'invalid', level: 'wrong', problem, fix: 'Correct that key: it may isolate or restrict.' }
    return { kind: 'odd', level: 'warning', problem, fix: 'Look at that line.' }
  })
  if (issue === undefined) return odd
  const fix = 'Correct the file; it is in force as soon as it is saved.'
  return [{ kind: 'invalid', level: 'wrong', problem: issue, fix }, ...odd]
}

function findNotEnforced({ path, entries }: ParsedToolsFile): readonly string[] {
  return entries.flatMap(({ fields, line, lines }) =>
    NOT_ENFORCED_FIELDS.filter((field) => fields[field] !== undefined).map(
      (field) => `${path}:${lines[field] ?? line}: ${field} is not enforced in this version yet.`,
    ),
  )
}

function aboutTool(
  offer: Offer,
  { pin, policy, hasOwnEntry, entries, findings, doubts }: ReviewedTool,
  { file, notWritten }: ProblemSources['editor'],
): readonly ToolProblem[] {
  const { recordName: tool } = offer
  const problems: ToolProblem[] = []
  if (!hasOwnEntry) {
    // Its own reason only: all of them for each tool would be as many texts as a hostile server likes, squared.
    const why = notWritten.find((reason) => reason.startsWith(`${tool} has no entry: `)) ?? notWritten[0]
    const problem = `${tool} has no entry in ${file.path}.${why === undefined ? '' : ` ${why}`}`
    const fix =
      why === undefined
        ? 'The gateway writes one when it starts: review it, then commit the file.'
        : 'Put that right, or write an entry yourself, by any of its names.'
    problems.push({ kind: 'unwritten', level: 'wrong', tool, problem, fix })
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
    const places = own.map(({ key, line }) => `${key} (line ${line})`).join(', ')
    const problem = `${tool} has ${own.length} entries in ${file.path}: ${places}. Of each field the strictest value counts.`
    problems.push({ kind: 'doubled', level: 'warning', tool, problem, fix: 'Make one of them.' })
  }
  problems.push(...findUnmatchedRules(offer, { own, policy, path: file.path }))
  problems.push(...aboutFindings(tool, findings, doubts))
  return problems
}

/** What an entry may say and no rule acts on yet: whoever writes it should know. */
export const NOT_ENFORCED_FIELDS = ['sensitivity', 'sensitivePaths'] as const satisfies readonly PolicyField[]
