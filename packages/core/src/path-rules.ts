import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import { quoteText } from './excerpt.ts'
import type { FoundPath } from './found-path.ts'
import {
  type CallPathContext,
  createCallPathContext,
  type JoinedPaths,
  type LocatedPath,
  locatePath,
} from './located-path.ts'
import type { PatternProblem } from './path-glob.ts'
import {
  compileFromEachFolder,
  compilePathPattern,
  exactFold,
  looseFold,
  type PathPattern,
  patternCovers,
  patternTouches,
} from './path-patterns.ts'
import { type CallRoots, NO_ROOTS } from './path-readings.ts'
import type { LinkInspector, PathContext } from './path-world.ts'
import type { PolicyValue } from './tool-policy.ts'

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
