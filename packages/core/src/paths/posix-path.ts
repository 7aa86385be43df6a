/** The names between the slashes, without empty ones and `.`. */
export const splitPath = (path: string): readonly string[] =>
  path.split('/').filter((segment) => segment !== '' && segment !== '.')

export const joinPath = (segments: readonly string[]): string => `/${segments.join('/')}`

/** Removes `..` from an absolute path as text, as most programs do before they open it. */
export function normalizeAbsolute(path: string): string {
  const done: string[] = []
  for (const segment of splitPath(path)) {
    if (segment === '..') done.pop()
    else done.push(segment)
  }
  return joinPath(done)
}

/** The same for any path: `..` at the beginning of a relative path stays. */
export function normalizePath(text: string): string {
  if (text.startsWith('/')) return normalizeAbsolute(text)
  const done: string[] = []
  for (const segment of splitPath(text)) {
    if (segment === '..' && done.length > 0 && done.at(-1) !== '..') done.pop()
    else done.push(segment)
  }
  return done.join('/')
}

/** Whether a path is the folder or inside it, at any depth. `/app-evil` is not inside `/app`. */
export const isInside = (path: string, folder: string): boolean =>
  folder === '/' || path === folder || path.startsWith(`${folder}/`)

/** Whether it contains `..` as a name, with slashes of either kind. */
export const hasParentSegment = (text: string): boolean => /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(text)
