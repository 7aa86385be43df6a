import { followLinks } from './follow-links.ts'
import type { FoundPath } from './found-path.ts'
import { readPathValue } from './path-readings.ts'
import { normalPath } from './path-text.ts'
import type { Look, PathWorld } from './path-world.ts'

/** A value with all its paths: as they are written, and where they lead. A web address has none. */
export interface Located {
  readonly written: readonly string[]
  readonly real: readonly string[]
  readonly lookAt: Look
}

/**
 * Makes a value canonical. A server may take `..` back as text before it opens the path, or leave it to the kernel, which
 * follows links first: both ends are told.
 */
export function locatePath(path: FoundPath, world: PathWorld, lookAt: Look): Located | { readonly problem: string } {
  if ('problem' in path) return path
  const readings = readPathValue(path.value, world)
  if ('problem' in readings) return readings
  const written = new Set<string>()
  const real = new Set<string>()
  for (const raw of readings.paths) {
    const normal = normalPath(raw)
    written.add(normal)
    for (const way of [raw, normal]) {
      const end = lookAt === undefined ? normal : followLinks(way, lookAt)
      if (end === undefined) return { problem: 'a link on its way leads in a circle or cannot be looked at' }
      real.add(end)
    }
  }
  return { written: [...written], real: [...real], lookAt }
}
