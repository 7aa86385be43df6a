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
  /** When given, every path has to be in one of them; an empty list leaves none. */
  readonly allowedPaths?: PolicyValue<readonly string[]> | undefined
  /** These win. */
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

/** Compiles the path rules of one tool. Where there are none, the judge is free. */
export function compilePathRules({ allowedPaths, forbiddenPaths }: PathRules, world: PathContext): PathCheck {
  const allowed = allowedPaths && compilePaths(allowedPaths, (text) => [compilePathPattern(text, world, exactFold)])
  // A disk that takes /ETC for /etc may not be asked; a path that is not the forbidden one is lost for little.
  const loose = world.case === 'folded' ? looseFold : exactFold
  const forbidden = forbiddenPaths?.value.length
    ? compilePaths(forbiddenPaths, (text) => compileFromEachFolder(text, world, loose))
    : undefined
  const rule = (forbidden ?? allowed)?.rule
  if (allowed === undefined && forbidden === undefined) return () => ALLOW
  const flawOf = (path: FoundPath, surroundings: CallPathContext): PathDenial | undefined => {
    const located = locatePath(path, surroundings)
    if ('problem' in located)
      return { reason: `${describeArgument(path)} cannot be judged by path rules: ${located.problem}`, rule }
    return (forbidden && checkForbidden(path, located, forbidden)) ?? (allowed && checkAllowed(path, located, allowed))
  }
  return (found, bases = NO_ROOTS) => {
    const surroundings = createCallPathContext(world, bases)
    for (const path of found) {
      const flaw = flawOf(path, surroundings)
      if (flaw !== undefined) return denied(flaw)
    }
    return ALLOW
  }
}

/** Tells whether there is a path at all and every one lies in the patterns. What cannot be judged does not. */
export function compilePathMatcher(
  patterns: readonly string[],
  world: PathContext,
): (found: readonly FoundPath[], bases?: CallRoots) => boolean {
  const fence = compilePaths({ value: patterns }, (text) => [compilePathPattern(text, world, exactFold)])
  return (found, bases = NO_ROOTS) => {
    if (found.length === 0) return false
    const surroundings = createCallPathContext(world, bases)
    return found.every((path) => {
      const located = locatePath(path, surroundings)
      return !('problem' in located) && located.real.length > 0 && findOutside(located.real, fence) === undefined
    })
  }
}

/** Why a pattern cannot be used, for whoever checks the file. */
export function checkPathPattern(pattern: string, world: PathContext): string | undefined {
  const compiled = compilePathPattern(pattern, world, exactFold)
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
  // What it would forbid cannot be told, so it may be anything.
  if (problem !== undefined)
    return { reason: `${describeArgument(path)} is refused: forbidden_paths has ${problem}`, rule }
  const { inspectLink } = located
  const paths = [...located.written, ...located.real]
  const joined = located.joined()
  const touched = patterns.find(
    (pattern) =>
      patternTouches(pattern, paths, inspectLink) || joined.some((ways) => leadsInto(pattern, ways, inspectLink)),
  )
  if (touched === undefined) return undefined
  return {
    reason: `${describeArgument(path)} is in forbidden_paths (${quoteText(touched.text, MAX_SHOWN_LENGTH)})`,
    rule,
  }
}

/** A folder of the server that is forbidden itself makes no path in it worse. */
const leadsInto = (pattern: PathPattern, { base, paths }: JoinedPaths, lookAt: LinkInspector): boolean =>
  patternTouches(pattern, paths, lookAt) && !patternTouches(pattern, [base], lookAt)

function checkAllowed(
  path: FoundPath,
  { real, written, isRelative }: LocatedPath,
  fence: CompiledPaths,
): PathDenial | undefined {
  const stray = findOutside(real, fence)
  if (stray === undefined) return undefined
  const byLink = findOutside(written, fence) === undefined ? ' once links are followed' : ''
  const broken = fence.problem === undefined ? '' : `, of which one cannot be used: ${fence.problem}`
  const hint = isRelative ? ' from every folder that the server may read it from; use an absolute path' : ''
  return { reason: `${describeArgument(path)} is not in allowed_paths${byLink}${broken}${hint}`, rule: fence.rule }
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

/** A value with all its paths: as they are written, and where they lead. A web address has none. */
interface LocatedPath {
  readonly written: readonly string[]
  readonly real: readonly string[]
  /** The value names no path from the root. */
  readonly isRelative: boolean
  /** The paths that it is for a server that joins what it gets to its folder, also what begins with a slash. */
  readonly joined: () => readonly JoinedPaths[]
  readonly inspectLink: LinkInspector
}

interface JoinedPaths {
  /** The folder that they are joined to. */
  readonly base: string
  readonly paths: readonly string[]
}

/** What a value is read with. */
interface CallPathContext extends CallRoots {
  readonly context: PathContext
  readonly inspectLink: LinkInspector
  /** How servers look at names: as they are written, and as they read. None where there is nothing to look at. */
  readonly inspectors: readonly NonNullable<LinkInspector>[]
}

/** Within these, what is judged together is judged by one state of the disk. */
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
 * Makes a value canonical. A server may take `..` back as text before it opens the path, or leave it to the kernel, which
 * follows links first: both ends are told.
 */
function locatePath(path: FoundPath, surroundings: CallPathContext): LocatedPath | { readonly problem: string } {
  if ('problem' in path) return path
  const { context, inspectLink, inspectors } = surroundings
  const readings = interpretPath(path.value, context, surroundings)
  if ('problem' in readings) return readings
  const written = new Set<string>()
  const real = new Set<string>()
  for (const raw of readings.paths) {
    const normal = normalizeAbsolute(raw)
    written.add(normal)
    if (inspectLink === undefined) real.add(normal)
    for (const end of followAll([raw, normal], inspectors)) {
      if (end === undefined) return { problem: 'a link on its way leads in a circle or cannot be looked at' }
      real.add(end)
    }
  }
  const { absolute } = readings
  const joined = (): readonly JoinedPaths[] => joinToBases(absolute, surroundings)
  return { written: [...written], real: [...real], isRelative: absolute.length === 0, joined, inspectLink }
}

const followAll = (ways: readonly string[], looks: CallPathContext['inspectors']): readonly (string | undefined)[] =>
  ways.flatMap((way) => looks.map((look) => followLinks(way, look)))

/**
 * `/keys` is the `keys` in each folder that the server may start from, as it is written and where it leads. A folder in
 * which nothing has the first of its names is left out: else hardly any path would be free of some pattern.
 */
function joinToBases(absolute: readonly string[], surroundings: CallPathContext): readonly JoinedPaths[] {
  const { context, inspectors } = surroundings
  if (inspectors.length === 0 || absolute.length === 0) return []
  const bases = findBaseFolders(context, surroundings)
  if ('problem' in bases) return []
  const mayExist = (base: string, text: string): boolean => {
    const [first] = splitPath(text)
    return (
      first !== undefined &&
      (hasParentSegment(text) || inspectors.some((look) => look(`${base}/${first}`) !== 'missing'))
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
