import type { ParsedToolsFile } from '@sallyport/core'
import { createFileIssue, createFileIssueLog, type FileIssue } from './file-issue.ts'
import type { ParsedFile, ParseResult } from './parsed-file.ts'
import { readToolEntry } from './read-entry.ts'
import { findSection, readCategories, readModePolicies, reportUnknown, SECTIONS } from './read-sections.ts'

export type ToolsFileResult =
  | { readonly ok: true; readonly file: ParsedToolsFile; readonly warnings: readonly FileIssue[] }
  | { readonly ok: false; readonly issue: FileIssue }

/** What tools.yaml says. */
export function readToolsFile(parsing: ParseResult, path: string): ToolsFileResult {
  if (!parsing.ok)
    return { ok: false, issue: createFileIssue(parsing.source, parsing.problem.offset, parsing.problem.problem) }
  return readParsed(parsing.file, path)
}

function readParsed(file: ParsedFile, path: string): ToolsFileResult {
  const log = createFileIssueLog(file.source)
  checkRoot(file, log.error)
  const reader = { file, log }
  for (const pair of file.root.pairs?.values() ?? []) {
    if (!SECTIONS.some((name) => findSection(file.root, name) === pair)) reportUnknown(pair, SECTIONS, reader)
  }
  const categories = readCategories(reader)
  const modePolicies = readModePolicies(reader)
  const entryReader = { ...reader, memo: new Map() }
  const entries = file.entries.map((entry) => readToolEntry(entry, entryReader))
  const [issue] = log.errors
  if (issue !== undefined) return { ok: false, issue }
  return { ok: true, file: { path, entries, categories, modePolicies }, warnings: log.warnings }
}

function checkRoot({ root, originalOffset }: ParsedFile, error: (offset: number, problem: string) => void): void {
  const tools = root.pairs?.get('tools')
  const expected = 'expected a mapping'
  if (root.pairs === undefined && root.value !== null) error(0, `${expected} with the key tools.`)
  if (tools?.target.pairs === undefined && (tools?.target.value ?? null) !== null) {
    error(originalOffset(tools?.at ?? 0), `tools: ${expected} of tools to what holds for them.`)
  }
}
