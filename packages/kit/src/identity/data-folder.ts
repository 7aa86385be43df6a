import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where servers keep what they hold for users: the option, `$SALLYPORT_DATA`, or the system's place for such things. */
export function findDataFolder(option: string | undefined, environment: Environment): string {
  const chosen = option ?? environment.SALLYPORT_DATA
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  return join(stateFolder(environment), 'sallyport-kit')
}

function stateFolder({ XDG_STATE_HOME: xdg, LOCALAPPDATA: local }: Environment): string {
  // The XDG rules want a relative path to be ignored.
  if (xdg?.startsWith('/')) return xdg
  if (process.platform === 'win32' && local !== undefined && local !== '') return local
  return join(homedir(), '.local', 'state')
}
