import { spawnSync } from 'node:child_process'
import { isJsonList, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { AgentPlace } from '../agent-adapter.ts'
import { findProgram } from '../find-program.ts'
import { flagValues, hasFlag } from '../flag-values.ts'

/** A session of goose's, with the extensions that it starts when it is resumed, whatever flags say. */
export interface GooseSession {
  readonly id: string
  readonly name: string
  readonly extensions: readonly JsonObject[]
  readonly provider: string
}

const PATIENCE_MS = 20_000
const MAX_BYTES = 256 * 1024 ** 2

export const resumes = (args: readonly string[]): boolean => hasFlag(args, '--resume') || hasFlag(args, '-r')

/** The session that these arguments resume, as goose itself tells it; nothing where it cannot be known. */
export function resumedSession(place: AgentPlace, args: readonly string[]): GooseSession | undefined {
  const sessions = sessionsOf(place)
  const [id] = flagValues(args, ['--session-id'])
  const [name] = flagValues(args, ['--name', '-n'])
  const [path] = flagValues(args, ['--path'])
  if (path !== undefined) return undefined
  if (id !== undefined) return sessions.find((session) => session.id === id.value)
  // The newest comes first.
  return name === undefined ? sessions[0] : sessions.find((session) => session.name === name.value)
}

function sessionsOf(place: AgentPlace): readonly GooseSession[] {
  const program = findProgram('goose', place)
  if (program === undefined) return []
  const { stdout, status } = spawnSync(program, ['session', 'list', '--format', 'json'], {
    ...{ cwd: place.cwd, env: { ...place.environment }, encoding: 'utf8', timeout: PATIENCE_MS, maxBuffer: MAX_BYTES },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    const list: unknown = status === 0 ? JSON.parse(stdout) : []
    return Array.isArray(list) ? list.flatMap((one: Json) => sessionIn(one) ?? []) : []
  } catch {
    // Another version says it in another way.
    return []
  }
}

/** Undefined where it does not say what it starts. */
function sessionIn(session: Json): GooseSession | undefined {
  if (!isJsonObject(session) || typeof session.id !== 'string') return undefined
  const data = isJsonObject(session.extension_data) ? session.extension_data['enabled_extensions.v0'] : undefined
  const extensions = isJsonObject(data) ? data.extensions : undefined
  if (!isJsonList(extensions)) return undefined
  return {
    ...{ id: session.id, name: String(session.name ?? ''), provider: String(session.provider_name ?? '') },
    extensions: extensions.filter(isJsonObject),
  }
}
