/** The names between the slashes; empty ones and `.` say nothing. */
export const splitPath = (path: string): readonly string[] =>
  path.split('/').filter((segment) => segment !== '' && segment !== '.')

export const joinPath = (segments: readonly string[]): string => `/${segments.join('/')}`

/** An absolute path with `..` taken back as text, as most programs do before they open anything. */
export function normalizeAbsolute(path: string): string {
  const done: string[] = []
  for (const segment of splitPath(path)) {
    if (segment === '..') done.pop()
    else done.push(segment)
  }
  return joinPath(done)
}

/** The same of any text: what goes up from its beginning stays. */
export function normalizePath(text: string): string {
  if (text.startsWith('/')) return normalizeAbsolute(text)
  const done: string[] = []
  for (const segment of splitPath(text)) {
    if (segment === '..' && done.length > 0 && done.at(-1) !== '..') done.pop()
    else done.push(segment)
  }
  return done.join('/')
}

/** Whether it is the folder or lies in it, at any depth: `/app-evil` does not lie in `/app`. */
export const isInside = (path: string, folder: string): boolean =>
  folder === '/' || path === folder || path.startsWith(`${folder}/`)

/** Whether it goes up anywhere, with slashes of either kind. */
export const hasParentSegment = (text: string): boolean => /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(text)
