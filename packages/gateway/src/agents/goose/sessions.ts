import { spawnSync } from 'node:child_process'
import { isJsonList, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { HostContext } from '../agent-adapter.ts'
import { findProgram } from '../find-program.ts'
import { findFlagValues, hasFlag } from '../flag-values.ts'

/** A session of goose, with the extensions that goose starts when it is resumed, regardless of flags. */
export interface GooseSession {
  readonly id: string
  readonly name: string
  readonly extensions: readonly JsonObject[]
  readonly provider: string
}

const TIMEOUT_MS = 20_000
const MAX_BYTES = 256 * 1024 ** 2

export const isResuming = (args: readonly string[]): boolean => hasFlag(args, '--resume') || hasFlag(args, '-r')

/** The session that these arguments resume, as goose lists it; `undefined` if it cannot be determined. */
export function findResumedSession(host: HostContext, args: readonly string[]): GooseSession | undefined {
  const sessions = listSessions(host)
  const [id] = findFlagValues(args, ['--session-id'])
  const [name] = findFlagValues(args, ['--name', '-n'])
  const [path] = findFlagValues(args, ['--path'])
  if (path !== undefined) return undefined
  if (id !== undefined) return sessions.find((session) => session.id === id.value)
  // The newest comes first.
  return name === undefined ? sessions[0] : sessions.find((session) => session.name === name.value)
}

function listSessions(host: HostContext): readonly GooseSession[] {
  const program = findProgram('goose', host)
  if (program === undefined) return []
  const { stdout, status } = spawnSync(program, ['session', 'list', '--format', 'json'], {
    ...{ cwd: host.cwd, env: { ...host.environment }, encoding: 'utf8', timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    const list: unknown = status === 0 ? JSON.parse(stdout) : []
    return Array.isArray(list) ? list.flatMap((one: Json) => parseSession(one) ?? []) : []
  } catch {
    // Another version of goose may use another format.
    return []
  }
}

/** `undefined` if the session does not list its extensions. */
function parseSession(session: Json): GooseSession | undefined {
  if (!isJsonObject(session) || typeof session.id !== 'string') return undefined
  const data = isJsonObject(session.extension_data) ? session.extension_data['enabled_extensions.v0'] : undefined
  const extensions = isJsonObject(data) ? data.extensions : undefined
  if (!isJsonList(extensions)) return undefined
  return {
    ...{ id: session.id, name: String(session.name ?? ''), provider: String(session.provider_name ?? '') },
    extensions: extensions.filter(isJsonObject),
  }
}
