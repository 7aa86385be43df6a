import { isJsonObject, type JsonObject, parseDuration } from '@sallyport/core'
import type { KitConfig } from '../config/config.ts'
import type { Environment } from '../identity/identity.ts'
import type { ClientTarget } from './create-client.ts'
import { readDockerTarget } from './docker-target.ts'
import { invalidEntry, readString, readStringList, readStringMap } from './entry-value.ts'
import type { EraChoice } from './link.ts'

/** What an entry says to a client. */
export interface ClientEntry {
  readonly target: ClientTarget
  readonly options: { readonly timeoutMs?: number; readonly era?: EraChoice }
}

const ERAS = ['auto', 'legacy', 'modern']

/** Reads an entry of `type: client`, or an upstream of the gateway. */
export function readClientEntry({ file, name, kind, settings }: KitConfig, environment: Environment): ClientEntry {
  const where = `${file}: mcp_servers.${name}`
  const { era } = settings
  if (kind === 'server') throw invalidEntry(`${where} is of type "server", which a client cannot open`)
  if (era !== undefined && !ERAS.includes(String(era))) throw invalidEntry(`${where}.era is none of ${ERAS.join(', ')}`)
  const timeoutMs = readTimeout(settings, where)
  return {
    target:
      settings.type === 'docker-gateway' ? readDockerTarget(settings, where, environment) : readTarget(settings, where),
    options: { ...(timeoutMs !== undefined && { timeoutMs }), ...(era !== undefined && { era: era as EraChoice }) },
  }
}

function readTarget(settings: JsonObject, where: string): ClientTarget {
  const { command, cwd, urlIsolated } = settings
  const url = settings.url ?? settings.httpUrl
  if (url !== undefined)
    return {
      url: readString(url, `${where}.url`),
      headers: readStringMap(settings.headers, `${where}.headers`),
      ...(settings.type === 'sse' && { transport: 'sse' as const }),
      ...(urlIsolated !== undefined && { urlIsolated: readString(urlIsolated, `${where}.url_isolated`) }),
    }
  if (command === undefined) throw invalidEntry(`${where} has neither a url nor a command`)
  // Somebody who wrote it counts on it; a process has no second instance.
  if (urlIsolated !== undefined) throw invalidEntry(`${where} has a url_isolated, but no url`)
  return {
    command: readString(command, `${where}.command`),
    args: readStringList(settings.args, `${where}.args`),
    env: readStringMap(settings.env ?? settings.environment, `${where}.env`),
    ...(cwd !== undefined && { cwd: readString(cwd, `${where}.cwd`) }),
  }
}

/** The spellings of a call's time-out, and the unit of a bare number. */
const TIMEOUT_KEYS = {
  readTimeout: 's',
  timeoutSeconds: 's',
  toolTimeoutSec: 's',
  toolTimeoutMs: 'ms',
  timeout: 'ms',
} as const

function readTimeout(settings: JsonObject, where: string): number | undefined {
  const call = isJsonObject(settings.timeouts) ? settings.timeouts.call : undefined
  const written = Object.entries(TIMEOUT_KEYS).find(([key]) => settings[key] !== undefined)
  if (call === undefined && written === undefined) return undefined
  const [key, unit] = written ?? ['timeouts.call', 's']
  const ms = parseDuration(call ?? settings[key], call === undefined ? unit : 's')
  if (ms === undefined || ms <= 0) throw invalidEntry(`${where}: the time-out of calls is no duration above 0`)
  return Math.ceil(ms)
}
