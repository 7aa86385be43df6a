import { ToolRetryError } from '../agent-error.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { readLines } from './file-lines.ts'
import { boundCount, refusal } from './source.ts'

export interface LineSearch {
  /** As it stands: no pattern. */
  readonly text: string
  readonly glob?: string
  readonly limit?: number
}

export interface FoundLine {
  readonly path: string
  readonly line: number
  readonly text: string
}

export interface FoundLines {
  readonly lines: readonly FoundLine[]
  /** False when there may be more. */
  readonly isWhole: boolean
}

const MOST_FOUND = 1_000
const MOST_BYTES = 256 * 1024 * 1024
const LINE_BYTES = 64 * 1024
const SHOWN = 500

/** Files that vanish or cannot be read are passed over; long lines are searched as far as they are held. */
export async function searchLines(workspace: Workspace, path: string, search: LineSearch): Promise<FoundLines> {
  if (search.text === '') throw refusal('The text to search for is empty.')
  const limit = boundCount('limit', search.limit ?? 100, MOST_FOUND)
  const { files, isWhole } = await workspace.findFiles(path, search.glob === undefined ? {} : { glob: search.glob })
  const lines: FoundLine[] = []
  let bytes = 0
  for (const file of files) {
    bytes += file.size
    if (bytes > MOST_BYTES) return { lines, isWhole: false }
    const found = await searchFile(workspace, file.path, { text: search.text, limit: limit - lines.length + 1 })
    lines.push(...found)
    if (lines.length > limit) return { lines: lines.slice(0, limit), isWhole: false }
  }
  return { lines, isWhole }
}

async function searchFile(
  workspace: Workspace,
  path: string,
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<readonly FoundLine[]> {
  const found: FoundLine[] = []
  try {
    await workspace.useFile(path, async (file) => {
      for await (const line of readLines(file, { lineBytes: LINE_BYTES })) {
        if (found.length >= limit) return
        const at = line.text.indexOf(text)
        if (at >= 0) found.push({ path, line: line.number, text: around(line.text, at, text.length) })
      }
    })
  } catch (error) {
    if (!(error instanceof ToolRetryError)) throw error
  }
  return found
}

/** Of a long line, what stands around the place. */
function around(line: string, at: number, length: number): string {
  if (line.length <= SHOWN) return line
  const start = Math.max(0, Math.min(at - 100, line.length - SHOWN))
  return line.slice(start, Math.max(start + SHOWN, at + Math.min(length, SHOWN)))
}
