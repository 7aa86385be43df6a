import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { createLookup, type Environment, readEnvironment } from '../reading/environment.ts'

export interface Home {
  readonly path: string
  /** How the home was found. A `project` home may come from somebody else, so it must be trusted first. */
  readonly origin: 'flag' | 'environment' | 'project' | 'user'
}

export interface LocateOptions {
  /** The value of `--home` or `--state`. */
  readonly flag: string | undefined
  readonly environment: Environment
  readonly cwd: string
}

/** `--home`, else `$SALLYPORT_HOME`, else `./.sallyport` if there, else `$XDG_CONFIG_HOME/sallyport`. */
export function locateHome(options: LocateOptions): Home {
  const { flag, environment } = options
  if (flag !== undefined) return { path: resolveFlag(flag, '--home', options), origin: 'flag' }
  const fromVariable = readEnvironment(environment).home
  if (fromVariable !== undefined) return { path: resolvePath(fromVariable, options), origin: 'environment' }
  const project = resolve(options.cwd, '.sallyport')
  if (pathExists(project)) return { path: project, origin: 'project' }
  return { path: join(xdgFolder(environment, 'XDG_CONFIG_HOME', '.config'), 'sallyport'), origin: 'user' }
}

/** `--state`, else `$SALLYPORT_STATE`, else `$XDG_STATE_HOME/sallyport`. */
export function locateState(options: LocateOptions): string {
  const { flag, environment } = options
  if (flag !== undefined) return resolveFlag(flag, '--state', options)
  const fromVariable = readEnvironment(environment).state
  if (fromVariable !== undefined) return resolvePath(fromVariable, options)
  return join(xdgFolder(environment, 'XDG_STATE_HOME', join('.local', 'state')), 'sallyport')
}

/** The folder of the keys that sign caller tokens: `$SALLYPORT_KEYS`, else `$XDG_DATA_HOME/sallyport/keys`. */
export function locateKeys(options: Omit<LocateOptions, 'flag'>): string {
  const { environment } = options
  const fromVariable = readEnvironment(environment).keys
  if (fromVariable !== undefined) return resolvePath(fromVariable, options)
  return join(xdgFolder(environment, 'XDG_DATA_HOME', join('.local', 'share')), 'sallyport', 'keys')
}

/** A home that was named explicitly must exist: after a typo, an error is clearer than a gateway without servers. */
export function requireHome(home: Home): void {
  if (home.origin === 'user' || home.origin === 'project') return
  if (pathExists(home.path)) return
  throw new SallyportError('HOME_UNREADABLE', `The home ${home.path} does not exist or cannot be read.`, {
    hint: `Correct ${home.origin === 'flag' ? '--home' : 'SALLYPORT_HOME'}, or create the folder.`,
  })
}

/** True also for a dangling link or a file: ignoring it silently would start something unexpected. */
function pathExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // The path is not accessible (EACCES, ENOTDIR, …). If it is read later, that error says why.
    return false
  }
}

/** The user's home folder. HOME comes first: tests and `sudo -E` rely on it. */
export function findUserHome(environment: Environment): string {
  const home = createLookup(environment)('HOME')
  return home !== undefined && isAbsolute(home) ? home : homedir()
}

function resolveFlag(path: string, flag: string, options: LocateOptions): string {
  if (path.trim() !== '') return resolvePath(path, options)
  throw new SallyportError('USAGE', `${flag} is empty; expected the path of a folder.`, {
    hint: `Write ${flag} <folder>.`,
  })
}

function resolvePath(path: string, { environment, cwd }: Omit<LocateOptions, 'flag'>): string {
  if (path === '~') return findUserHome(environment)
  return path.startsWith('~/') ? join(findUserHome(environment), path.slice(2)) : resolve(cwd, path)
}

function xdgFolder(environment: Environment, variable: string, fallback: string): string {
  const value = createLookup(environment)(variable)
  // The XDG base directory specification: a relative path is invalid and is to be ignored.
  return value !== undefined && isAbsolute(value) ? value : join(findUserHome(environment), fallback)
}
