import { followLinks, lookAlike, rememberLooks } from './follow-links.ts'
import type { FoundPath } from './found-path.ts'
import { type CallBases, findBases, readPathValue } from './path-readings.ts'
import { climbs, normalPath, pathSegments } from './path-text.ts'
import type { Look, PathWorld } from './path-world.ts'

/** A value with all its paths: as they are written, and where they lead. A web address has none. */
export interface Located {
  readonly written: readonly string[]
  readonly real: readonly string[]
  /** The value names no path from the root. */
  readonly isRelative: boolean
  /** The paths that it is for a server that joins what it gets to its folder, also what begins with a slash. */
  readonly joined: () => readonly JoinedPaths[]
  readonly lookAt: Look
}

export interface JoinedPaths {
  /** The folder that they are joined to. */
  readonly base: string
  readonly paths: readonly string[]
}

/** What a value is read with. */
export interface Surroundings extends CallBases {
  readonly world: PathWorld
  readonly lookAt: Look
  /** How servers look at names: as they are written, and as they read. None where there is nothing to look at. */
  readonly looks: readonly NonNullable<Look>[]
}

/** Within these, what is judged together is judged by one state of the disk. */
export function surroundCall(world: PathWorld, { roots }: CallBases): Surroundings {
  if (world.lookAt === undefined) return { world, roots, lookAt: undefined, looks: [] }
  const lookAt = rememberLooks(world.lookAt)
  return { world, roots, lookAt, looks: [lookAt, rememberLooks(lookAlike(lookAt, world.namesIn))] }
}

/**
 * Makes a value canonical. A server may take `..` back as text before it opens the path, or leave it to the kernel, which
 * follows links first: both ends are told.
 */
export function locatePath(path: FoundPath, surroundings: Surroundings): Located | { readonly problem: string } {
  if ('problem' in path) return path
  const { world, lookAt, looks } = surroundings
  const readings = readPathValue(path.value, world, surroundings)
  if ('problem' in readings) return readings
  const written = new Set<string>()
  const real = new Set<string>()
  for (const raw of readings.paths) {
    const normal = normalPath(raw)
    written.add(normal)
    if (lookAt === undefined) real.add(normal)
    for (const end of endsOf([raw, normal], looks)) {
      if (end === undefined) return { problem: 'a link on its way leads in a circle or cannot be looked at' }
      real.add(end)
    }
  }
  const { absolute } = readings
  const joined = (): readonly JoinedPaths[] => joinToBases(absolute, surroundings)
  return { written: [...written], real: [...real], isRelative: absolute.length === 0, joined, lookAt }
}

const endsOf = (ways: readonly string[], looks: Surroundings['looks']): readonly (string | undefined)[] =>
  ways.flatMap((way) => looks.map((look) => followLinks(way, look)))

/**
 * `/keys` is the `keys` in each folder that the server may start from, as it is written and where it leads. A folder in
 * which nothing has the first of its names is left out: else hardly any path would be free of some pattern.
 */
function joinToBases(absolute: readonly string[], surroundings: Surroundings): readonly JoinedPaths[] {
  const { world, looks } = surroundings
  if (looks.length === 0 || absolute.length === 0) return []
  const bases = findBases(world, surroundings)
  if ('problem' in bases) return []
  const mayExist = (base: string, text: string): boolean => {
    const [first] = pathSegments(text)
    return first !== undefined && (climbs(text) || looks.some((look) => look(`${base}/${first}`) !== 'missing'))
  }
  return bases.paths.flatMap((base) =>
    absolute
      .filter((text) => mayExist(base, text))
      .map((text) => {
        const raw = base + text
        const normal = normalPath(raw)
        return { base, paths: [normal, ...endsOf([raw, normal], looks).map((end) => end ?? normal)] }
      }),
  )
}
