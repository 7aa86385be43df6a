import { addMark, MARK_VARIABLE } from '../processes/processes.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface ChildEnvironmentOptions {
  /** The environment of the gateway. */
  readonly inherited: Environment
  /** The entry's own `env`. */
  readonly own: Readonly<Record<string, string>>
  readonly mark: string
}

/**
 * What a program needs to find itself, its user and its folders. None of these can contain a key, a token or a proxy's
 * password.
 */
const INHERITED_VARIABLES: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'LANG',
  'LANGUAGE',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_DIRS',
  'XDG_DATA_DIRS',
])

const LOCALE = /^LC_[A-Z]+$/

/** The environment of a server: the few variables above, then its own, then the mark, which cannot be overwritten. */
export function buildChildEnvironment({ inherited, own, mark }: ChildEnvironmentOptions): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && (INHERITED_VARIABLES.has(name) || LOCALE.test(name))) environment[name] = value
  }
  return { ...environment, ...own, [MARK_VARIABLE]: addMark(inherited[MARK_VARIABLE], mark) }
}
