import { isJsonObject, type Json, type JsonObject, parseDuration, SallyportError } from '@sallyport/core'
import type { KitConfig } from '../config/config.ts'
import type { ClientTarget } from './create-client.ts'
import type { EraChoice } from './link.ts'

/** What an entry says to a client. */
export interface ClientEntry {
  readonly target: ClientTarget
  readonly options: { readonly timeoutMs?: number; readonly era?: EraChoice }
}

/** Transports that a client can use, by their written `type`. */
const TYPES = ['client', 'http', 'streamable-http', 'streamableHttp', 'remote', 'stdio', 'local']
const ERAS = ['auto', 'legacy', 'modern']

/** Reads an entry of `type: client`, or an upstream of the gateway. */
export function readClientEntry({ file, name, kind, settings }: KitConfig): ClientEntry {
  const where = `${file}: mcp_servers.${name}`
  const { type, era } = settings
  if (kind === 'server' || (type !== undefined && !TYPES.includes(String(type))))
    throw invalid(`${where} is of type "${String(type)}", which a client cannot open`)
  if (era !== undefined && !ERAS.includes(String(era))) throw invalid(`${where}.era is none of ${ERAS.join(', ')}`)
  const timeoutMs = readTimeout(settings, where)
  return {
    target: readTarget(settings, where),
    options: { ...(timeoutMs !== undefined && { timeoutMs }), ...(era !== undefined && { era: era as EraChoice }) },
  }
}

function readTarget(settings: JsonObject, where: string): ClientTarget {
  const { command, cwd, urlIsolated } = settings
  const url = settings.url ?? settings.httpUrl
  if (url !== undefined)
    return {
      url: readText(url, `${where}.url`),
      headers: readTexts(settings.headers, `${where}.headers`),
      ...(urlIsolated !== undefined && { urlIsolated: readText(urlIsolated, `${where}.url_isolated`) }),
    }
  if (command === undefined) throw invalid(`${where} has neither a url nor a command`)
  // Somebody who wrote it counts on it; a process has no second instance.
  if (urlIsolated !== undefined) throw invalid(`${where} has a url_isolated, but no url`)
  return {
    command: readText(command, `${where}.command`),
    args: readList(settings.args, `${where}.args`),
    env: readTexts(settings.env ?? settings.environment, `${where}.env`),
    ...(cwd !== undefined && { cwd: readText(cwd, `${where}.cwd`) }),
  }
}

/** The spellings of a call's time-out, and the unit of a bare number. */
const TIMEOUTS = {
  readTimeout: 's',
  timeoutSeconds: 's',
  toolTimeoutSec: 's',
  toolTimeoutMs: 'ms',
  timeout: 'ms',
} as const

function readTimeout(settings: JsonObject, where: string): number | undefined {
  const call = isJsonObject(settings.timeouts) ? settings.timeouts.call : undefined
  const written = Object.entries(TIMEOUTS).find(([key]) => settings[key] !== undefined)
  if (call === undefined && written === undefined) return undefined
  const [key, unit] = written ?? ['timeouts.call', 's']
  const ms = parseDuration(call ?? settings[key], call === undefined ? unit : 's')
  if (ms === undefined || ms <= 0) throw invalid(`${where}: the time-out of calls is no duration above 0`)
  return Math.ceil(ms)
}

function readTexts(value: Json | undefined, where: string): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  if (!isJsonObject(value)) throw invalid(`${where} is no mapping`)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, readText(item, `${where}.${key}`)]))
}

function readList(value: Json | undefined, where: string): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalid(`${where} is no list`)
  return value.map((item: Json, index) => readText(item, `${where}[${index}]`))
}

function readText(value: Json | undefined, where: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalid(`${where} is no text`)
}

const invalid = (message: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${message}.`, { hint: 'See docs/kit/client.md for what a client reads.' })
