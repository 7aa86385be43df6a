import { ToolRetryError } from '../retry-fatal-errors.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { readLines } from './file-lines.ts'
import { clampCount, refusal } from './with-workspace.ts'

/** The string to search for, and the files to search. */
export interface LineSearch {
  /** A plain string, not a pattern. */
  readonly text: string
  readonly glob?: string
  readonly limit?: number
}

/** A line that a search found. */
export interface FoundLine {
  readonly path: string
  readonly line: number
  readonly text: string
}

/** The result of a search for lines. */
export interface FoundLines {
  readonly lines: readonly FoundLine[]
  /** False if there may be more. */
  readonly isWhole: boolean
}

const MAX_FOUND = 1_000
const MAX_SEARCHED_BYTES = 256 * 1024 * 1024
const MAX_LINE_BYTES = 64 * 1024
const MAX_SHOWN = 500

/** Files that vanish or cannot be read are skipped; long lines are searched only up to the limit. */
export async function searchLines(workspace: Workspace, path: string, search: LineSearch): Promise<FoundLines> {
  if (search.text === '') throw refusal('The text to search for is empty.')
  const limit = clampCount('limit', search.limit ?? 100, MAX_FOUND)
  const { files, isWhole } = await workspace.findFiles(path, search.glob === undefined ? {} : { glob: search.glob })
  const find = compileSearch(search.text)
  const lines: FoundLine[] = []
  let bytes = 0
  for (const file of files) {
    bytes += file.size
    if (bytes > MAX_SEARCHED_BYTES) return { lines, isWhole: false }
    const found = await searchFile(workspace, file.path, {
      find,
      length: search.text.length,
      limit: limit - lines.length + 1,
    })
    lines.push(...found)
    if (lines.length > limit) return { lines: lines.slice(0, limit), isWhole: false }
  }
  return { lines, isWhole }
}

async function searchFile(
  workspace: Workspace,
  path: string,
  { find, length, limit }: { readonly find: FindInLine; readonly length: number; readonly limit: number },
): Promise<readonly FoundLine[]> {
  const found: FoundLine[] = []
  try {
    await workspace.useFile(path, async (file) => {
      for await (const line of readLines(file, { lineBytes: MAX_LINE_BYTES })) {
        if (found.length >= limit) return
        const at = find(line.text)
        if (at >= 0) found.push({ path, line: line.number, text: excerptAround(line.text, at, length) })
      }
    })
  } catch (error) {
    if (!(error instanceof ToolRetryError)) throw error
  }
  return found
}

/** The part of a long line around the match. */
function excerptAround(line: string, at: number, length: number): string {
  if (line.length <= MAX_SHOWN) return line
  const start = Math.max(0, Math.min(at - 100, line.length - MAX_SHOWN))
  return line.slice(start, Math.max(start + MAX_SHOWN, at + Math.min(length, MAX_SHOWN)))
}

/** The index of a text in a line, from a start index on; -1 if it is not there. */
export type FindInLine = (line: string, from?: number) => number

/** Up to this length the engine's own search is fast enough: it makes at most this many comparisons per character. */
const MAX_SHORT_TEXT = 16

/** Knuth-Morris-Pratt: the time is linear even for very repetitive lines and texts. */
export function compileSearch(text: string): FindInLine {
  if (text.length <= MAX_SHORT_TEXT) return (line, from = 0) => line.indexOf(text, from)
  const borders = computeBorders(text)
  return (line, from = 0) => {
    let matched = 0
    for (let at = from; at < line.length; at++) {
      const code = line.charCodeAt(at)
      while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1] as number
      if (text.charCodeAt(matched) === code) matched++
      if (matched === text.length) return at - matched + 1
    }
    return -1
  }
}

/** For each prefix of the text, the length of its longest proper suffix that is also a prefix. */
function computeBorders(text: string): Int32Array {
  const borders = new Int32Array(text.length)
  for (let at = 1, matched = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1] as number
    if (text.charCodeAt(matched) === code) matched++
    borders[at] = matched
  }
  return borders
}
