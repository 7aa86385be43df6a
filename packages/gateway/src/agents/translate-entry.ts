import { expandVars, type Json } from '@sallyport/core'
import type { ImportedServer, NativeServer } from './agent-adapter.ts'
import { createDraft, isolated, isolatedTools, type KeyTranslator, quoteKey, type ServerDraft } from './entry-keys.ts'
import type { VariableSyntax } from './variable-syntax.ts'

/** The entry format of an agent. */
export interface EntryShape {
  readonly variables: VariableSyntax
  readonly keys: Readonly<Record<string, KeyTranslator>>
}

/** Keys of Sallyport. No agent uses them with another meaning. */
const GATEWAY_KEYS: EntryShape['keys'] = { isolated, isolatedTools, isolated_tools: isolatedTools }

/** Translates an agent's entry to an entry of our config.yaml. */
export function translateEntry({ entry }: NativeServer, { variables, keys }: EntryShape): ImportedServer {
  const draft = createDraft(variables)
  for (const [key, value] of Object.entries(entry)) {
    const known = Object.hasOwn(keys, key) ? keys : GATEWAY_KEYS
    const read = Object.hasOwn(known, key) ? known[key] : undefined
    if (value === undefined || value === null) continue
    if (read === undefined) draft.notes.push(`${quoteKey(key)} has no counterpart and is left out.`)
    else read(value, draft, key)
  }
  const why = draft.refusal ?? findTransportProblem(draft)
  return why === undefined ? { ok: true, ...buildServer(draft) } : { ok: false, why }
}

function findTransportProblem({ command, url }: ServerDraft): string | undefined {
  if (command !== undefined && url !== undefined) return 'it has both a program to start and a URL to reach.'
  if (command === undefined && url === undefined) return 'it has neither a program to start nor a URL to reach.'
  // The value of a variable is not known here.
  const written = expandVars(url ?? '', () => '')
  if (url === undefined || !written.ok || written.used) return undefined
  const parsed = URL.canParse(written.value) ? new URL(written.value) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) return 'its URL is not an http or https URL.'
  if (parsed.username !== '' || parsed.password !== '') return 'its URL contains a user name or a password.'
  return undefined
}

function buildServer(draft: ServerDraft): Omit<Extract<ImportedServer, { ok: true }>, 'ok'> {
  const notes = [...new Set([...draft.notes, ...furtherNotes(draft)])]
  const config = { ...buildTransport(draft), ...buildCommonKeys(draft) }
  return { config, notes }
}

function buildTransport({ command, args, env, cwd, url, remote, headers }: ServerDraft): Record<string, Json> {
  if (url !== undefined)
    return {
      ...(remote === 'sse' && { type: 'sse' }),
      url,
      ...(headers.size > 0 && { headers: Object.fromEntries(headers) }),
    }
  return {
    command: command ?? '',
    ...(args.length > 0 && { args }),
    ...(env.size > 0 && { env: Object.fromEntries(env) }),
    ...(cwd !== undefined && { cwd }),
  }
}

function buildCommonKeys(draft: ServerDraft): Record<string, Json> {
  const { timeouts, includeTools, excludeTools, title, description, enabled } = draft
  const { isolated: isIsolated, isolatedTools: listed = [] } = draft
  return {
    ...(title !== undefined && isShort(title, 200) && { title }),
    ...(description !== undefined && isShort(description, 2_000) && { description }),
    ...(timeouts.size > 0 && { timeouts: Object.fromEntries(timeouts) }),
    ...(includeTools !== undefined && { include_tools: includeTools }),
    ...(excludeTools !== undefined && excludeTools.length > 0 && { exclude_tools: excludeTools }),
    ...(isIsolated && { isolated: true }),
    ...(listed.length > 0 && { isolatedTools: listed }),
    ...(!enabled && { enabled: false }),
  }
}

const isShort = (text: string, maxLength: number): boolean => text.trim() !== '' && text.length <= maxLength

function furtherNotes(draft: ServerDraft): readonly string[] {
  const { command, cwd, url, headers, args, env } = draft
  const isRemote = url !== undefined
  return [
    ...(isRemote && (args.length > 0 || env.size > 0 || cwd !== undefined)
      ? ['Arguments, variables and the folder are left out: a server that is reached by its URL has none.']
      : []),
    ...(!isRemote && headers.size > 0 ? ['Headers are left out: a program that is started has none.'] : []),
    ...(!isRemote && (isRelative(command) || isRelative(cwd))
      ? ['A path is relative to the folder in which the agent starts. Write the full path.']
      : []),
    ...(draft.enabled ? [] : ['It is disabled in the agent, and so it is here.']),
  ]
}

/** A bare word is searched in PATH, and a variable may have any value. */
const isRelative = (path: string | undefined): boolean =>
  path !== undefined && /[/\\]/.test(path) && !/^([/~\\]|[A-Za-z]:|\$\{)/.test(path)
