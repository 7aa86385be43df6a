import type { LinkStatus, PathContext } from './path-context.ts'
import { joinPath, splitPath } from './posix-path.ts'

/** The limit of Linux. */
const MAX_LINKS = 40
/** Link targets may make the path longer without end. */
const MAX_SEGMENTS = 8192

/**
 * Resolves an absolute path as the kernel does: one name after the other, so that `..` after a link leaves the folder
 * that the link points to. Names that do not exist are preserved. `undefined` if the path cannot be resolved.
 */
export function followLinks(path: string, inspect: (path: string) => LinkStatus): string | undefined {
  const pending = [...splitPath(path)].reverse()
  const done: string[] = []
  /** The number of names up to the first one that does not exist: nothing below it can be a link. */
  let missing = Number.POSITIVE_INFINITY
  let links = 0
  for (let segment = pending.pop(); segment !== undefined; segment = pending.pop()) {
    if (segment === '..') {
      done.pop()
      if (done.length < missing) missing = Number.POSITIVE_INFINITY
      continue
    }
    done.push(segment)
    if (done.length > missing) continue
    const status = inspect(joinPath(done))
    if (status === 'unreadable') return undefined
    if (status === 'missing') missing = done.length
    if (typeof status === 'string') continue
    links++
    if (links > MAX_LINKS || pending.length > MAX_SEGMENTS) return undefined
    if (status.target.startsWith('/')) done.length = 0
    else done.pop()
    pending.push(...[...splitPath(status.target)].reverse())
  }
  return joinPath(done)
}

/** Characters with equivalent spellings in Unicode: `é` as one or two characters, the Kelvin sign and `K`. */
const MAY_DIFFER = /[K;`\u{80}-\u{10ffff}]/u

/**
 * Inspects paths like a server that, if a name does not exist as written, opens an equivalent Unicode spelling of it.
 * The official filesystem server does so. Such a name is reported like a link to the other spelling.
 */
export function matchEquivalentNames(
  inspect: (path: string) => LinkStatus,
  listNames: PathContext['listNames'],
): typeof inspect {
  return (path) => {
    const status = inspect(path)
    const start = path.lastIndexOf('/')
    const name = path.slice(start + 1)
    if (status !== 'missing' || !MAY_DIFFER.test(name)) return status
    const wanted = name.normalize('NFC')
    const names = listNames(path.slice(0, start) || '/')
    if (names === undefined) return 'unreadable'
    const [target, ...others] = names.filter((other) => other.normalize('NFC') === wanted)
    if (target === undefined) return 'missing'
    // With several candidates, nobody knows which one the server opens.
    return others.length === 0 ? { target } : 'unreadable'
  }
}

/** Inspects each path only once, so that all paths of a call are checked against the same state of the disk. */
export function cacheLinkStatus(inspect: (path: string) => LinkStatus): (path: string) => LinkStatus {
  const cache = new Map<string, LinkStatus>()
  return (path) => {
    const cached = cache.get(path)
    if (cached !== undefined) return cached
    const status = inspect(path)
    cache.set(path, status)
    return status
  }
}
