import { expandVars } from '../text/expand-vars.ts'
import { followLinks } from './follow-links.ts'
import type { LinkInspector, PathContext } from './path-context.ts'
import { escapeGlob, matchesGlob, type PathGlob, type PatternProblem, readPathGlobs } from './path-glob.ts'

/** A compiled pattern of the operator. */
export interface PathPattern {
  /** As the operator wrote it. */
  readonly text: string
  readonly fold: Fold
  readonly globs: readonly PathGlob[]
  /** For each glob, the folder that its head resolved to at compile time; `undefined` if that is unknown. */
  readonly heads: readonly (string | undefined)[]
}

/** Normalizes a path for comparison. */
export type Fold = (path: string) => string

export const exactFold: Fold = (path) => path.normalize('NFC')
/** To upper case and back, because some file systems treat `ſ` and `ß` as `s` and `ss`. */
export const looseFold: Fold = (path) => path.toUpperCase().toLowerCase().normalize('NFC')

/**
 * Compiles a pattern of `allowed_paths` or a similar list. It supports `~`, `${VAR}` and `file:///`. A pattern that
 * begins with `**` matches anywhere. Any other relative pattern is resolved against the server's working folder.
 */
export function compilePathPattern(text: string, context: PathContext, fold: Fold): PathPattern | PatternProblem {
  const absolute = absolutePattern(text, context)
  if ('problem' in absolute) return absolute
  const globs = readPathGlobs(absolute.pattern)
  if ('problem' in globs) return globs
  // Heads are looked up on the disk as written, so only the rest is folded here.
  const folded = readPathGlobs(fold(absolute.pattern))
  if ('problem' in folded) return folded
  const heads = globs.map(({ head }) =>
    context.inspectLink === undefined ? head : followLinks(head, context.inspectLink),
  )
  return { text, globs: globs.map(({ head }, at) => ({ head, tail: folded[at]?.tail ?? [] })), fold, heads }
}

/** A relative forbidding pattern applies in every folder that a relative path may refer to. */
export function compileFromEachFolder(
  text: string,
  context: PathContext,
  fold: Fold,
): readonly (PathPattern | PatternProblem)[] {
  const isRelative = 'isRelative' in absolutePattern(text, context)
  const folders = isRelative ? [context.cwd, ...context.listBaseFolders()] : [context.cwd]
  return folders.map((cwd) => compilePathPattern(text, { ...context, cwd }, fold))
}

type AbsolutePattern = { readonly pattern: string; readonly isRelative?: true }

function absolutePattern(text: string, context: PathContext): AbsolutePattern | PatternProblem {
  if (text === '') return { problem: 'it is empty' }
  if (/\p{Cc}/u.test(text)) return { problem: 'it has a control character in it' }
  if (/^[a-z]:|^\\/i.test(text)) return { problem: 'it is a Windows path; write one with slashes, from the root' }
  const expansion = expandVars(text, (name) => {
    const value = context.environment(name)
    return value === undefined ? undefined : escapeGlob(value)
  })
  if (!expansion.ok) return { problem: expansion.issues.map(({ message }) => message).join('; ') }
  return anchored(expansion.value.replace(/^file:\/\/(?=\/)/i, ''), context)
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
 * Whether a canonical path is allowed. Links in the pattern are resolved at compile time only: whoever can replace an
 * allowed folder by a link must not be able to widen the rule.
 */
export const patternCovers = ({ globs, heads, fold }: PathPattern, path: string): boolean =>
  globs.some((glob, at) => {
    const head = heads[at]
    return head !== undefined && matchesGlob(glob, fold(path), fold(head))
  })

/** Whether a path is forbidden, with the links of the pattern as at compile time or as they are now. */
export function patternTouches(pattern: PathPattern, paths: readonly string[], inspectLink: LinkInspector): boolean {
  const folded = paths.map(pattern.fold)
  return pattern.globs.some((glob, at) => {
    const now = inspectLink && followLinks(glob.head, inspectLink)
    return [...new Set([pattern.heads[at], now])].some(
      (head) => head !== undefined && folded.some((path) => matchesGlob(glob, path, pattern.fold(head))),
    )
  })
}
