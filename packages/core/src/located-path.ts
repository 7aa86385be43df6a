import { cacheLinkStatus, followLinks, matchEquivalentNames } from './follow-links.ts'
import type { FoundPath } from './found-path.ts'
import { type CallRoots, findBaseFolders, interpretPath } from './path-readings.ts'
import { hasParentSegment, normalizeAbsolute, splitPath } from './path-text.ts'
import type { LinkInspector, PathContext } from './path-world.ts'

/** A value with all its paths: as they are written, and where they lead. A web address has none. */
export interface LocatedPath {
  readonly written: readonly string[]
  readonly real: readonly string[]
  /** The value names no path from the root. */
  readonly isRelative: boolean
  /** The paths that it is for a server that joins what it gets to its folder, also what begins with a slash. */
  readonly joined: () => readonly JoinedPaths[]
  readonly inspectLink: LinkInspector
}

export interface JoinedPaths {
  /** The folder that they are joined to. */
  readonly base: string
  readonly paths: readonly string[]
}

/** What a value is read with. */
export interface CallPathContext extends CallRoots {
  readonly context: PathContext
  readonly inspectLink: LinkInspector
  /** How servers look at names: as they are written, and as they read. None where there is nothing to look at. */
  readonly inspectors: readonly NonNullable<LinkInspector>[]
}

/** Within these, what is judged together is judged by one state of the disk. */
export function createCallPathContext(context: PathContext, { roots }: CallRoots): CallPathContext {
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
export function locatePath(path: FoundPath, surroundings: CallPathContext): LocatedPath | { readonly problem: string } {
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
