import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import { quoteText } from './excerpt.ts'
import type { FoundPath } from './found-path.ts'
import { type JoinedPaths, type Located, locatePath, type Surroundings, surroundCall } from './located-path.ts'
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
import { type CallBases, NO_ROOTS } from './path-readings.ts'
import type { Look, PathWorld } from './path-world.ts'
import type { Ruled } from './tool-policy.ts'

export interface PathRules {
  /** When given, every path has to be in one of them; an empty list leaves none. */
  readonly allowedPaths?: Ruled<readonly string[]> | undefined
  /** These win. */
  readonly forbiddenPaths?: Ruled<readonly string[]> | undefined
}

export type PathJudge = (found: readonly FoundPath[], bases?: CallBases) => Verdict

interface Fence {
  readonly patterns: readonly PathPattern[]
  /** A pattern that cannot be used, and why. */
  readonly broken: string | undefined
  readonly rule: RuleSource | undefined
}

interface Flaw {
  readonly reason: string
  readonly rule: RuleSource | undefined
}

const SHOWN = 120

/** Compiles the path rules of one tool. Where there are none, the judge is free. */
export function compilePathRules({ allowedPaths, forbiddenPaths }: PathRules, world: PathWorld): PathJudge {
  const allowed = allowedPaths && compileFence(allowedPaths, (text) => [compilePathPattern(text, world, exactFold)])
  // A disk that takes /ETC for /etc may not be asked; a path that is not the forbidden one is lost for little.
  const loose = world.case === 'folded' ? looseFold : exactFold
  const forbidden = forbiddenPaths?.value.length
    ? compileFence(forbiddenPaths, (text) => compileFromEachFolder(text, world, loose))
    : undefined
  const rule = (forbidden ?? allowed)?.rule
  if (allowed === undefined && forbidden === undefined) return () => ALLOW
  const flawOf = (path: FoundPath, surroundings: Surroundings): Flaw | undefined => {
    const located = locatePath(path, surroundings)
    if ('problem' in located)
      return { reason: `${named(path)} cannot be judged by path rules: ${located.problem}`, rule }
    return (forbidden && forbiddenFlaw(path, located, forbidden)) ?? (allowed && allowedFlaw(path, located, allowed))
  }
  return (found, bases = NO_ROOTS) => {
    const surroundings = surroundCall(world, bases)
    for (const path of found) {
      const flaw = flawOf(path, surroundings)
      if (flaw !== undefined) return denied(flaw)
    }
    return ALLOW
  }
}

/** Tells whether there is a path at all and every one lies in the patterns. What cannot be judged does not. */
export function compilePathCover(
  patterns: readonly string[],
  world: PathWorld,
): (found: readonly FoundPath[], bases?: CallBases) => boolean {
  const fence = compileFence({ value: patterns }, (text) => [compilePathPattern(text, world, exactFold)])
  return (found, bases = NO_ROOTS) => {
    if (found.length === 0) return false
    const surroundings = surroundCall(world, bases)
    return found.every((path) => {
      const located = locatePath(path, surroundings)
      return !('problem' in located) && located.real.length > 0 && outside(located.real, fence) === undefined
    })
  }
}

/** Why a pattern cannot be used, for whoever checks the file. */
export function pathPatternProblem(pattern: string, world: PathWorld): string | undefined {
  const compiled = compilePathPattern(pattern, world, exactFold)
  return 'problem' in compiled ? compiled.problem : undefined
}

type CompilePattern = (text: string) => readonly (PathPattern | PatternProblem)[]

function compileFence({ value, rule }: Omit<Ruled<readonly string[]>, 'reason'>, compile: CompilePattern): Fence {
  const patterns: PathPattern[] = []
  let broken: string | undefined
  for (const text of value) {
    for (const compiled of compile(text)) {
      if ('problem' in compiled) broken ??= `${quoteText(text, SHOWN)}: ${compiled.problem}`
      else patterns.push(compiled)
    }
  }
  return { patterns, broken, rule }
}

function forbiddenFlaw(path: FoundPath, located: Located, { patterns, broken, rule }: Fence): Flaw | undefined {
  if (located.real.length === 0) return undefined
  // What it would forbid cannot be told, so it may be anything.
  if (broken !== undefined) return { reason: `${named(path)} is refused: forbidden_paths has ${broken}`, rule }
  const { lookAt } = located
  const paths = [...located.written, ...located.real]
  const joined = located.joined()
  const touched = patterns.find(
    (pattern) => patternTouches(pattern, paths, lookAt) || joined.some((ways) => leadsInto(pattern, ways, lookAt)),
  )
  if (touched === undefined) return undefined
  return { reason: `${named(path)} is in forbidden_paths (${quoteText(touched.text, SHOWN)})`, rule }
}

/** A folder of the server that is forbidden itself makes no path in it worse. */
const leadsInto = (pattern: PathPattern, { base, paths }: JoinedPaths, lookAt: Look): boolean =>
  patternTouches(pattern, paths, lookAt) && !patternTouches(pattern, [base], lookAt)

function allowedFlaw(path: FoundPath, { real, written, isRelative }: Located, fence: Fence): Flaw | undefined {
  const stray = outside(real, fence)
  if (stray === undefined) return undefined
  const byLink = outside(written, fence) === undefined ? ' once links are followed' : ''
  const broken = fence.broken === undefined ? '' : `, of which one cannot be used: ${fence.broken}`
  const hint = isRelative ? ' from every folder that the server may read it from; use an absolute path' : ''
  return { reason: `${named(path)} is not in allowed_paths${byLink}${broken}${hint}`, rule: fence.rule }
}

const outside = (paths: readonly string[], { patterns }: Fence): string | undefined =>
  paths.find((path) => !patterns.some((pattern) => patternCovers(pattern, path)))

const named = (path: FoundPath): string =>
  'value' in path ? `The argument ${path.where} with ${quoteText(path.value, SHOWN)}` : `The argument ${path.where}`

const denied = ({ reason, rule }: Flaw): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_FORBIDDEN',
  reason: `${reason}.`,
  ...(rule && { rule }),
})
