import { compileNameGlob, matchWildcards } from '@sallyport/core'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { openFile } from './open-file.ts'
import { clampPage } from './page.ts'
import { isTemporaryName } from './temporary-name.ts'
import { useEntry, type WorkspaceTree, walkTree } from './walk-tree.ts'
import { formatWorkspacePath } from './workspace-path.ts'

/** Which files a search returns. */
export interface FindOptions {
  /** `*.csv` matches a name anywhere below; `src/*.ts` matches a path from the start of the search. */
  readonly glob?: string
  /** The maximum number of files to return. */
  readonly limit?: number
  readonly signal?: AbortSignal
}

/** A file that a search found. */
export interface FoundFile {
  readonly path: string
  readonly size: number
}

/** The result of a search for files. */
export interface FoundFiles {
  readonly files: readonly FoundFile[]
  /** False if there may be more: the limit was reached, or the tree is too large to be searched. */
  readonly isWhole: boolean
}

const MAX_FOUND = 10_000
const MAX_VISITED = 100_000
const MAX_GLOB_LENGTH = 1_000

export async function findFiles(
  tree: WorkspaceTree,
  start: readonly string[],
  options: FindOptions,
): Promise<FoundFiles> {
  const { limit } = clampPage({ limit: options.limit ?? MAX_FOUND }, MAX_FOUND)
  const matches = compilePathGlob(options.glob ?? '**')
  const files: FoundFile[] = []
  let visited = 0
  for await (const { entry, segments } of walkTree(tree, start, MAX_VISITED + 1)) {
    options.signal?.throwIfAborted()
    if (files.length >= limit || ++visited > MAX_VISITED) return { files, isWhole: false }
    if (entry.kind !== 'file' || isTemporaryName(entry.name)) continue
    if (matches(segments.slice(start.length)))
      files.push({ path: formatWorkspacePath(segments), size: await sizeOf(tree, segments, entry.size ?? 0) })
  }
  return { files, isWhole: true }
}

const sizeOf = (tree: WorkspaceTree, segments: readonly string[], size: number): Promise<number> =>
  tree.seal.sizeOf(segments, size, (use) => useEntry(tree, segments, async (entry) => use(openFile(entry))))

/** Without a slash the pattern applies to the name only. With one it applies to the whole path, and `**` matches any directories. */
export function compilePathGlob(pattern: string): (segments: readonly string[]) => boolean {
  if (pattern.length > MAX_GLOB_LENGTH)
    throw new ToolRetryError(`The pattern is over ${MAX_GLOB_LENGTH} characters long.`)
  const parts = pattern.split('/').filter((part) => part !== '')
  const matchers = parts.map((part) => (part === '**' ? ANY : compileNameGlob(part)))
  if (!pattern.includes('/')) return (segments) => matchers.every((matcher) => matcher(segments.at(-1) ?? ''))
  return (segments) => matchesPath(matchers, segments)
}

type NameMatcher = (name: string) => boolean
const ANY: NameMatcher = () => true

const matchesPath = (matchers: readonly NameMatcher[], segments: readonly string[]): boolean =>
  matchWildcards({ items: matchers, wildcard: ANY, matches: (matcher, segment) => matcher(segment) }, segments)
