import type { LinkStatus, PathContext } from './path-context.ts'
import { joinPath, splitPath } from './posix-path.ts'

/** As many as Linux follows. */
const MAX_LINKS = 40
/** Targets may lengthen the way without end. */
const MAX_SEGMENTS = 8192

/**
 * Where an absolute path leads when the kernel walks it: one name after the other, so that `..` behind a link leaves the
 * folder that the link leads to. What does not exist is kept as it is. Undefined where the way cannot be told.
 */
export function followLinks(path: string, lookAt: (path: string) => LinkStatus): string | undefined {
  const pending = [...splitPath(path)].reverse()
  const done: string[] = []
  /** How many names lead to the first thing that is not there: nothing below it can be a link. */
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
    const look = lookAt(joinPath(done))
    if (look === 'unreadable') return undefined
    if (look === 'missing') missing = done.length
    if (typeof look === 'string') continue
    links++
    if (links > MAX_LINKS || pending.length > MAX_SEGMENTS) return undefined
    if (look.target.startsWith('/')) done.length = 0
    else done.pop()
    pending.push(...[...splitPath(look.target)].reverse())
  }
  return joinPath(done)
}

/** What may be the same as another text of Unicode: `é` in one or two characters, and the Kelvin sign, which is a `K`. */
const MAY_DIFFER = /[K;`\u{80}-\u{10ffff}]/u

/**
 * The same look for a server that is content with a name that reads the same where there is none as it is written, as the
 * official filesystem server is. Such a name is told as if a link led to it.
 */
export function matchEquivalentNames(
  lookAt: (path: string) => LinkStatus,
  namesIn: PathContext['listNames'],
): typeof lookAt {
  return (path) => {
    const look = lookAt(path)
    const start = path.lastIndexOf('/')
    const name = path.slice(start + 1)
    if (look !== 'missing' || !MAY_DIFFER.test(name)) return look
    const wanted = name.normalize('NFC')
    const names = namesIn(path.slice(0, start) || '/')
    if (names === undefined) return 'unreadable'
    const [target, ...others] = names.filter((other) => other.normalize('NFC') === wanted)
    if (target === undefined) return 'missing'
    // Which of several it takes cannot be told.
    return others.length === 0 ? { target } : 'unreadable'
  }
}

/** The same look, which asks only once for each path: what is judged together is judged by one state of the disk. */
export function cacheLinkStatus(lookAt: (path: string) => LinkStatus): (path: string) => LinkStatus {
  const known = new Map<string, LinkStatus>()
  return (path) => {
    const before = known.get(path)
    if (before !== undefined) return before
    const look = lookAt(path)
    known.set(path, look)
    return look
  }
}
