import { builtinModules } from 'node:module'
import { SallyportError } from '@sallyport/core'

/** The name of a project: full in package.json, and without the scope everywhere else. */
export interface PackageName {
  readonly full: string
  readonly short: string
}

const MAX_LENGTH = 214
const PATTERN = /^(?:@[a-z0-9][a-z0-9._-]*\/)?([a-z0-9][a-z0-9._-]*)$/
/** Npm refuses the first two; the others are built-in modules of Node. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['node_modules', 'favicon.ico', ...builtinModules])

/** Parses a name by npm's rules for new packages. */
export function parsePackageName(typed: string): PackageName {
  const [, short] = PATTERN.exec(typed) ?? []
  if (short === undefined || typed.length > MAX_LENGTH)
    throw new SallyportError('USAGE', `"${typed.slice(0, MAX_LENGTH)}" cannot be the name of a package.`, {
      hint: `npm accepts up to ${MAX_LENGTH} lower-case letters, digits, "-", "_" and ".", starting with a letter or digit, with an optional scope: my-server, @me/my-server.`,
    })
  if (RESERVED_NAMES.has(typed))
    throw new SallyportError('USAGE', `"${typed}" is reserved by Node or npm.`, {
      hint: `Call it something else, such as ${short}-server.`,
    })
  return { full: typed, short }
}
