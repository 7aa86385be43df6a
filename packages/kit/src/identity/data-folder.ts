import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where servers store data of users: the option, `$SALLYPORT_DATA`, or the system's folder for application state. */
export function findDataFolder(option: string | undefined, environment: Environment): string {
  const chosen = option ?? environment.SALLYPORT_DATA
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  return join(stateFolder(environment), 'sallyport-kit')
}

function stateFolder({ XDG_STATE_HOME: xdg, LOCALAPPDATA: local }: Environment): string {
  // The XDG specification requires relative paths to be ignored.
  if (xdg?.startsWith('/')) return xdg
  if (process.platform === 'win32' && local !== undefined && local !== '') return local
  return join(homedir(), '.local', 'state')
}
