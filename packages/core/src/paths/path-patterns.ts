import { expandVars } from '../text/expand-vars.ts'
import { followLinks } from './follow-links.ts'
import type { LinkInspector, PathContext } from './path-context.ts'
import { escapeGlob, matchesGlob, type PathGlob, type PatternProblem, readPathGlobs } from './path-glob.ts'

/** A pattern of the operator, ready to be asked. */
export interface PathPattern {
  /** As it is written. */
  readonly text: string
  readonly fold: Fold
  readonly globs: readonly PathGlob[]
  /** For each glob, the folder that its head led to when it was compiled; undefined where that could not be told. */
  readonly heads: readonly (string | undefined)[]
}

/** The form in which paths are compared. */
export type Fold = (path: string) => string

export const exactFold: Fold = (path) => path.normalize('NFC')
/** Up and down again: `ſ` and `ß` have a lower case of their own, and are the same file as `s` and `ss` to some disks. */
export const looseFold: Fold = (path) => path.toUpperCase().toLowerCase().normalize('NFC')

/**
 * Reads one pattern of `allowed_paths` and its like. `~`, `${VAR}` and `file:///` are understood; one that begins with
 * `**` is meant anywhere, any other relative one in the server's working folder.
 */
export function compilePathPattern(text: string, world: PathContext, fold: Fold): PathPattern | PatternProblem {
  const absolute = absolutePattern(text, world)
  if ('problem' in absolute) return absolute
  const globs = readPathGlobs(absolute.pattern)
  if ('problem' in globs) return globs
  // Heads are looked up on the disk as they are written, so only what follows them is folded here.
  const folded = readPathGlobs(fold(absolute.pattern))
  if ('problem' in folded) return folded
  const heads = globs.map(({ head }) => (world.inspectLink === undefined ? head : followLinks(head, world.inspectLink)))
  return { text, globs: globs.map(({ head }, at) => ({ head, tail: folded[at]?.tail ?? [] })), fold, heads }
}

/** A relative pattern that forbids is meant in every folder from which the server may read a relative path. */
export function compileFromEachFolder(
  text: string,
  world: PathContext,
  fold: Fold,
): readonly (PathPattern | PatternProblem)[] {
  const isRelative = 'isRelative' in absolutePattern(text, world)
  const folders = isRelative ? [world.cwd, ...world.listBaseFolders()] : [world.cwd]
  return folders.map((cwd) => compilePathPattern(text, { ...world, cwd }, fold))
}

type AbsolutePattern = { readonly pattern: string; readonly isRelative?: true }

function absolutePattern(text: string, world: PathContext): AbsolutePattern | PatternProblem {
  if (text === '') return { problem: 'it is empty' }
  if (/\p{Cc}/u.test(text)) return { problem: 'it has a control character in it' }
  if (/^[a-z]:|^\\/i.test(text)) return { problem: 'it is a Windows path; write one with slashes, from the root' }
  const expansion = expandVars(text, (name) => {
    const value = world.environment(name)
    return value === undefined ? undefined : escapeGlob(value)
  })
  if (!expansion.ok) return { problem: expansion.issues.map(({ message }) => message).join('; ') }
  return anchored(expansion.value.replace(/^file:\/\/(?=\/)/i, ''), world)
}

function anchored(pattern: string, { userHome, cwd }: PathContext): AbsolutePattern | PatternProblem {
  if (pattern.startsWith('/')) return { pattern }
  if (/^\*\*(?:\/|$)/.test(pattern)) return { pattern: `/${pattern}` }
  if (/^~(?:\/|$)/.test(pattern)) return under(userHome, pattern.slice(1), 'the home folder is not known')
  if (pattern.startsWith('~')) return { problem: 'the home folder of another user is not known; write it out' }
  const absolute = under(cwd, `/${pattern}`, 'it is relative, and the working folder of the server is not known')
  return 'problem' in absolute ? absolute : { ...absolute, isRelative: true }
}

const under = (folder: string | undefined, rest: string, problem: string): { pattern: string } | PatternProblem =>
  folder === undefined ? { problem } : { pattern: escapeGlob(folder) + rest }

/**
 * Whether a canonical path is allowed. Links in the pattern count as they were when it was compiled: who may replace an
 * allowed folder by a link must not thereby move the fence.
 */
export const patternCovers = ({ globs, heads, fold }: PathPattern, path: string): boolean =>
  globs.some((glob, at) => {
    const head = heads[at]
    return head !== undefined && matchesGlob(glob, fold(path), fold(head))
  })

/** Whether one of the paths is forbidden: by the pattern as it led when it was compiled, or as it leads now. */
export function patternTouches(pattern: PathPattern, paths: readonly string[], lookAt: LinkInspector): boolean {
  const folded = paths.map(pattern.fold)
  return pattern.globs.some((glob, at) => {
    const now = lookAt && followLinks(glob.head, lookAt)
    return [...new Set([pattern.heads[at], now])].some(
      (head) => head !== undefined && folded.some((path) => matchesGlob(glob, path, pattern.fold(head))),
    )
  })
}
