import { ALLOW, type RuleSource, type Verdict } from '../policy/decide.ts'
import type { PolicyValue } from '../policy/tools-file.ts'
import { quoteText } from '../text/excerpt.ts'
import { cacheLinkStatus, followLinks, matchEquivalentNames } from './follow-links.ts'
import type { FoundPath } from './found-path.ts'
import type { LinkInspector, PathContext } from './path-context.ts'
import type { PatternProblem } from './path-glob.ts'
import { type CallRoots, findBaseFolders, interpretPath, NO_ROOTS } from './path-interpretations.ts'
import {
  compileFromEachFolder,
  compilePathPattern,
  exactFold,
  looseFold,
  type PathPattern,
  patternCovers,
  patternTouches,
} from './path-patterns.ts'
import { hasParentSegment, normalizeAbsolute, splitPath } from './posix-path.ts'

export interface PathRules {
  /** If given, every path has to match one of these patterns. An empty list allows no path. */
  readonly allowedPaths?: PolicyValue<readonly string[]> | undefined
  /** These take precedence. */
  readonly forbiddenPaths?: PolicyValue<readonly string[]> | undefined
}

export type PathCheck = (found: readonly FoundPath[], bases?: CallRoots) => Verdict

interface CompiledPaths {
  readonly patterns: readonly PathPattern[]
  /** A pattern that cannot be used, and why. */
  readonly problem: string | undefined
  readonly rule: RuleSource | undefined
}

interface PathDenial {
  readonly reason: string
  readonly rule: RuleSource | undefined
}

const MAX_SHOWN_LENGTH = 120

/** Compiles the path rules of one tool. Without rules the check costs nothing. */
export function compilePathRules({ allowedPaths, forbiddenPaths }: PathRules, context: PathContext): PathCheck {
  const allowed = allowedPaths && compilePaths(allowedPaths, (text) => [compilePathPattern(text, context, exactFold)])
  // On a disk that treats /ETC as /etc both are forbidden. Refusing a different path by this does little harm.
  const loose = context.case === 'folded' ? looseFold : exactFold
  const forbidden = forbiddenPaths?.value.length
    ? compilePaths(forbiddenPaths, (text) => compileFromEachFolder(text, context, loose))
    : undefined
  const rule = (forbidden ?? allowed)?.rule
  if (allowed === undefined && forbidden === undefined) return () => ALLOW
  const findDenial = (path: FoundPath, callContext: CallPathContext): PathDenial | undefined => {
    const located = locatePath(path, callContext)
    if ('problem' in located)
      return { reason: `${describeArgument(path)} cannot be checked against path rules: ${located.problem}`, rule }
    return (forbidden && checkForbidden(path, located, forbidden)) ?? (allowed && checkAllowed(path, located, allowed))
  }
  return (found, bases = NO_ROOTS) => {
    const callContext = createCallPathContext(context, bases)
    for (const path of found) {
      const denial = findDenial(path, callContext)
      if (denial !== undefined) return denied(denial)
    }
    return ALLOW
  }
}

/**
 * True if there is at least one path and all paths match the patterns. A path that cannot be checked does not match.
 */
export function compilePathMatcher(
  patterns: readonly string[],
  context: PathContext,
): (found: readonly FoundPath[], bases?: CallRoots) => boolean {
  const allowed = compilePaths({ value: patterns }, (text) => [compilePathPattern(text, context, exactFold)])
  return (found, bases = NO_ROOTS) => {
    if (found.length === 0) return false
    const callContext = createCallPathContext(context, bases)
    return found.every((path) => {
      const located = locatePath(path, callContext)
      return !('problem' in located) && located.real.length > 0 && findOutside(located.real, allowed) === undefined
    })
  }
}

/** Why a pattern cannot be used; `undefined` if it can. */
export function checkPathPattern(pattern: string, context: PathContext): string | undefined {
  const compiled = compilePathPattern(pattern, context, exactFold)
  return 'problem' in compiled ? compiled.problem : undefined
}

type CompilePathPatterns = (text: string) => readonly (PathPattern | PatternProblem)[]

function compilePaths(
  { value, rule }: Omit<PolicyValue<readonly string[]>, 'reason'>,
  compile: CompilePathPatterns,
): CompiledPaths {
  const patterns: PathPattern[] = []
  let problem: string | undefined
  for (const text of value) {
    for (const compiled of compile(text)) {
      if ('problem' in compiled) problem ??= `${quoteText(text, MAX_SHOWN_LENGTH)}: ${compiled.problem}`
      else patterns.push(compiled)
    }
  }
  return { patterns, problem, rule }
}

function checkForbidden(
  path: FoundPath,
  located: LocatedPath,
  { patterns, problem, rule }: CompiledPaths,
): PathDenial | undefined {
  if (located.real.length === 0) return undefined
  // It is unknown what the pattern would forbid, so everything is refused.
  if (problem !== undefined)
    return { reason: `${describeArgument(path)} is refused: forbidden_paths has ${problem}`, rule }
  const { inspectLink } = located
  const paths = [...located.written, ...located.real]
  const joined = located.joined()
  const touched = patterns.find(
    (pattern) =>
      patternTouches(pattern, paths, inspectLink) || joined.some((group) => leadsInto(pattern, group, inspectLink)),
  )
  if (touched === undefined) return undefined
  return {
    reason: `${describeArgument(path)} is in forbidden_paths (${quoteText(touched.text, MAX_SHOWN_LENGTH)})`,
    rule,
  }
}

/** A path is not refused only because the server's own folder is forbidden. */
const leadsInto = (pattern: PathPattern, { base, paths }: JoinedPaths, inspectLink: LinkInspector): boolean =>
  patternTouches(pattern, paths, inspectLink) && !patternTouches(pattern, [base], inspectLink)

function checkAllowed(
  path: FoundPath,
  { real, written, isRelative }: LocatedPath,
  allowed: CompiledPaths,
): PathDenial | undefined {
  const outside = findOutside(real, allowed)
  if (outside === undefined) return undefined
  const byLink = findOutside(written, allowed) === undefined ? ' once links are followed' : ''
  const broken = allowed.problem === undefined ? '' : `, of which one cannot be used: ${allowed.problem}`
  const hint = isRelative ? ' from every folder that the server may read it from; use an absolute path' : ''
  return { reason: `${describeArgument(path)} is not in allowed_paths${byLink}${broken}${hint}`, rule: allowed.rule }
}

const findOutside = (paths: readonly string[], { patterns }: CompiledPaths): string | undefined =>
  paths.find((path) => !patterns.some((pattern) => patternCovers(pattern, path)))

const describeArgument = (path: FoundPath): string =>
  'value' in path
    ? `The argument ${path.where} with ${quoteText(path.value, MAX_SHOWN_LENGTH)}`
    : `The argument ${path.where}`

const denied = ({ reason, rule }: PathDenial): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_FORBIDDEN',
  reason: `${reason}.`,
  ...(rule && { rule }),
})

/** All paths of a value: as written, and with links resolved. A web URL has none. */
interface LocatedPath {
  readonly written: readonly string[]
  readonly real: readonly string[]
  /** The value is not an absolute path. */
  readonly isRelative: boolean
  /** The paths for a server that joins every value to its folder, even one that begins with a slash. */
  readonly joined: () => readonly JoinedPaths[]
  readonly inspectLink: LinkInspector
}

interface JoinedPaths {
  /** The folder that they are joined to. */
  readonly base: string
  readonly paths: readonly string[]
}

/** The context for the paths of one call. */
interface CallPathContext extends CallRoots {
  readonly context: PathContext
  readonly inspectLink: LinkInspector
  /** How servers look up names: as written, and by equivalent spelling. Empty if the disk cannot be inspected. */
  readonly inspectors: readonly NonNullable<LinkInspector>[]
}

/** Caches link lookups, so that all paths of a call are checked against the same state of the disk. */
function createCallPathContext(context: PathContext, { roots }: CallRoots): CallPathContext {
  if (context.inspectLink === undefined) return { context, roots, inspectLink: undefined, inspectors: [] }
  const inspectLink = cacheLinkStatus(context.inspectLink)
  return {
    context,
    roots,
    inspectLink,
    inspectors: [inspectLink, cacheLinkStatus(matchEquivalentNames(inspectLink, context.listNames))],
  }
}

/**
 * Resolves a value. A server may remove `..` from the text before it opens the path, or leave it to the kernel, which
 * follows links first. Both results are returned.
 */
function locatePath(path: FoundPath, callContext: CallPathContext): LocatedPath | { readonly problem: string } {
  if ('problem' in path) return path
  const { context, inspectLink, inspectors } = callContext
  const interpreted = interpretPath(path.value, context, callContext)
  if ('problem' in interpreted) return interpreted
  const written = new Set<string>()
  const real = new Set<string>()
  for (const raw of interpreted.paths) {
    const normal = normalizeAbsolute(raw)
    written.add(normal)
    if (inspectLink === undefined) real.add(normal)
    for (const end of followAll([raw, normal], inspectors)) {
      if (end === undefined) return { problem: 'one of its links is circular or cannot be read' }
      real.add(end)
    }
  }
  const { absolute } = interpreted
  const joined = (): readonly JoinedPaths[] => joinToBases(absolute, callContext)
  return { written: [...written], real: [...real], isRelative: absolute.length === 0, joined, inspectLink }
}

const followAll = (
  paths: readonly string[],
  inspectors: CallPathContext['inspectors'],
): readonly (string | undefined)[] => paths.flatMap((path) => inspectors.map((inspect) => followLinks(path, inspect)))

/**
 * Joins `/keys` to each folder that the server may use, as written and with links resolved. A folder without an entry
 * of the first name is left out: otherwise nearly every path would match some forbidding pattern.
 */
function joinToBases(absolute: readonly string[], callContext: CallPathContext): readonly JoinedPaths[] {
  const { context, inspectors } = callContext
  if (inspectors.length === 0 || absolute.length === 0) return []
  const bases = findBaseFolders(context, callContext)
  if ('problem' in bases) return []
  const mayExist = (base: string, text: string): boolean => {
    const [first] = splitPath(text)
    return (
      first !== undefined &&
      (hasParentSegment(text) || inspectors.some((inspect) => inspect(`${base}/${first}`) !== 'missing'))
    )
  }
  return bases.paths.flatMap((base) =>
    absolute
      .filter((text) => mayExist(base, text))
      .map((text) => {
        const raw = base + text
        const normal = normalizeAbsolute(raw)
        return { base, paths: [normal, ...followAll([raw, normal], inspectors).map((end) => end ?? normal)] }
      }),
  )
}
