import { readFileSync } from 'node:fs'
import type { Environment } from '../data-folder.ts'

/** The variable with the keys that prove who calls. It counts only if whoever started the process set it. */
export const CALLER_KEYS_VARIABLE = 'SALLYPORT_CALLER_KEYS'
/** The variable with the id of the server in the gateway's config. The same is true for it. */
export const SERVER_ID_VARIABLE = 'SALLYPORT_SERVER_ID'

// biome-ignore lint/style/noProcessEnv: as early as this module can read it.
const AT_LOADING: Environment = pickVariables(process.env)

/**
 * These variables as they were when the process was started. `.env` in the working folder can be somebody else's file,
 * and `node --env-file` or a library can put it into `process.env` before this module is loaded. On Linux the system
 * still has the original variables; elsewhere those of the moment when the kit was loaded count.
 */
export function readStartEnvironment(): Environment {
  return readOriginal() ?? AT_LOADING
}

function readOriginal(): Environment | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return parseEnviron(readFileSync('/proc/self/environ', 'utf8'))
  } catch {
    return undefined
  }
}

function parseEnviron(text: string): Environment {
  const entries = text.split('\0').map((entry): [string, string] => {
    const at = entry.indexOf('=')
    return [entry.slice(0, at), entry.slice(at + 1)]
  })
  // Of two variables with the same name, programs use the first.
  return pickVariables(Object.fromEntries(entries.reverse()))
}

function pickVariables(environment: Environment): Environment {
  const { [CALLER_KEYS_VARIABLE]: keys, [SERVER_ID_VARIABLE]: id } = environment
  return { [CALLER_KEYS_VARIABLE]: keys, [SERVER_ID_VARIABLE]: id }
}
