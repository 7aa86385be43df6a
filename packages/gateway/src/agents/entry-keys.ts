import { isJsonList, isJsonObject, type Json, parseDuration, quoteText } from '@sallyport/core'
import { NO_VARIABLES, translateVariables, type VariableSyntax } from './variable-syntax.ts'

/** Translates one key of an agent's entry into our entry. */
export type KeyTranslator = (value: Json, draft: ServerDraft, key: string) => void

const MAX_SHOWN = 60
export const quoteKey = (key: string): string => quoteText(key, MAX_SHOWN)

const noteOmission = (draft: ServerDraft, key: string, expected: string): void =>
  noteOnce(draft, `${quoteKey(key)} is left out: expected ${expected}.`)

/** A program, or the program and its arguments. */
export const command: KeyTranslator = (value, draft, key) => {
  const words = isJsonList(value) ? toWords(value) : toWords([value])
  const [program, ...args] = words ?? []
  if (program === undefined || program.trim() === '') return noteOmission(draft, key, 'a program')
  draft.command = translateText(draft, program)
  draft.args = [...args.map((word) => translateText(draft, word)), ...draft.args]
}

export const args: KeyTranslator = (value, draft, key) => {
  const words = isJsonList(value) ? toWords(value) : undefined
  if (words === undefined) {
    // Without its arguments the program could do something else.
    draft.refusal = `expected ${quoteKey(key)} to be a list of strings.`
    return
  }
  draft.args = [...draft.args, ...words.map((word) => translateText(draft, word))]
}

function toWords(values: readonly Json[]): readonly string[] | undefined {
  const words = values.map(toArgument)
  return words.every((word) => word !== undefined) ? words : undefined
}

export const env: KeyTranslator = (value, draft, key) => {
  if (!isJsonObject(value)) return noteOmission(draft, key, 'a mapping of names to strings')
  for (const [name, part] of Object.entries(value)) {
    const word = toArgument(part)
    if (word === undefined || !isVariableName(name)) noteOmission(draft, `${key}.${name}`, 'a string')
    else draft.env.set(name, translateText(draft, word))
  }
}

/** Names of variables that are passed on unchanged. */
export const passedVariables: KeyTranslator = (value, draft, key) => {
  for (const item of isJsonList(value) ? value : [value]) {
    const name = isJsonObject(item) ? item.name : item
    if (typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)) {
      if (!draft.env.has(name)) draft.env.set(name, `\${${name}}`)
    } else noteOmission(draft, key, 'names of variables')
  }
}

const isVariableName = (name: string): boolean => name !== '' && !/[=\0]/.test(name)

export const cwd: KeyTranslator = (value, draft, key) => {
  if (typeof value !== 'string' || value.trim() === '' || value.includes('\0'))
    return noteOmission(draft, key, 'a folder')
  draft.cwd = translateText(draft, value)
}

/** The URL of a server; the `type` key may define its transport. */
export const url: KeyTranslator = (value, draft, key) => {
  if (typeof value !== 'string' || value.trim() === '') return noteOmission(draft, key, 'a URL')
  if (draft.url !== undefined) return noteOnce(draft, `${quoteKey(key)} is left out: there is another URL.`)
  draft.url = translateText(draft, value.trim())
}

/** A URL of the older SSE transport, unless `type` defines another one. */
export const sseUrl: KeyTranslator = (value, draft, key) => {
  url(value, draft, key)
  draft.remote ??= 'sse'
}

/** A URL of Streamable HTTP. It takes precedence over another URL. */
export const httpUrl: KeyTranslator = (value, draft, key) => {
  if (draft.url !== undefined) noteOnce(draft, `Another URL beside ${quoteKey(key)} is left out.`)
  delete draft.url
  url(value, draft, key)
  draft.remote = 'http'
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

export const headers: KeyTranslator = (value, draft, key) => {
  if (!isJsonObject(value)) return noteOmission(draft, key, 'a mapping of names to strings')
  for (const [name, part] of Object.entries(value)) {
    const word = toArgument(part)
    if (word === undefined || !HEADER_VALUE.test(word)) noteOmission(draft, `${key}.${name}`, 'a string on one line')
    else setHeader(draft, name, translateText(draft, word))
  }
}

/** Headers whose values are in variables. */
export const variableHeaders: KeyTranslator = (value, draft, key) => {
  if (!isJsonObject(value)) return noteOmission(draft, key, 'a mapping of headers to variables')
  for (const [name, variable] of Object.entries(value)) {
    if (typeof variable === 'string' && /^[A-Za-z_]\w*$/.test(variable)) setHeader(draft, name, `\${${variable}}`)
    else noteOmission(draft, `${key}.${name}`, 'the name of a variable')
  }
}

export const bearerVariable: KeyTranslator = (value, draft, key) => {
  if (typeof value !== 'string' || !/^[A-Za-z_]\w*$/.test(value))
    return noteOmission(draft, key, 'the name of a variable')
  setHeader(draft, 'Authorization', `Bearer \${${value}}`)
}

function setHeader(draft: ServerDraft, name: string, value: string): void {
  const duplicate = [...draft.headers.keys()].find((other) => other.toLowerCase() === name.toLowerCase())
  if (!HEADER_NAME.test(name) || duplicate !== undefined)
    noteOmission(draft, name, 'a header name that is valid and unique')
  else draft.headers.set(name, value)
}

export const type: KeyTranslator = (value, draft) => {
  const word = typeof value === 'string' ? value.toLowerCase().replaceAll(/[-_]/g, '') : undefined
  if (word === 'sse') draft.remote = 'sse'
  else if (word === 'http' || word === 'streamablehttp' || word === 'remote') draft.remote = 'http'
  else if (word !== 'stdio' && word !== 'local') draft.refusal = 'the gateway does not support its type.'
}

export const enabled: KeyTranslator = (value, draft) => {
  if (value === false) draft.enabled = false
}

export const disabled: KeyTranslator = (value, draft) => {
  if (value === true) draft.enabled = false
}

const timeout =
  (limit: 'startup' | 'call', unit: 'ms' | 's'): KeyTranslator =>
  (value, draft, key) => {
    const text = toDurationString(value, unit)
    if (text === undefined) noteOmission(draft, key, 'a duration')
    else draft.timeouts.set(limit, text)
  }

export const callTimeoutMs = timeout('call', 'ms')
export const callTimeoutSeconds = timeout('call', 's')
export const startupTimeoutMs = timeout('startup', 'ms')
export const startupTimeoutSeconds = timeout('startup', 's')

/** The only tools that are offered. An invalid list leaves no tools, because it was meant to restrict the server. */
export const includeTools: KeyTranslator = (value, draft, key) => {
  const names = readToolNames(value)
  // In our file names with these characters would be patterns.
  const plain = names?.filter((name) => !/[*?]/.test(name))
  if (plain?.length !== names?.length || names === undefined) noteOmission(draft, key, 'a list of tool names')
  draft.includeTools = (plain ?? []).map(escapeVariables)
}

/** Like `includeTools`, but `*` means all tools. */
export const includeToolsOrAll: KeyTranslator = (value, draft, key) => {
  if (!readToolNames(value)?.includes('*')) includeTools(value, draft, key)
}

export const excludeTools: KeyTranslator = (value, draft, key) => {
  const names = readToolNames(value)
  if (names === undefined) {
    draft.refusal = `expected ${quoteKey(key)} to be a list of tools.`
    return
  }
  draft.excludeTools = names.map(escapeVariables)
}

/** Our own keys, valid in any agent's file (ISO-1). An invalid value must not leave its server without isolation. */
export const isolated: KeyTranslator = (value, draft, key) => {
  if (typeof value === 'boolean') draft.isolated = value
  else draft.refusal = `expected ${quoteKey(key)} to be true or false.`
}

export const isolatedTools: KeyTranslator = (value, draft, key) => {
  const names = readToolNames(value)
  if (names === undefined) draft.refusal = `expected ${quoteKey(key)} to be a list of tool names.`
  else draft.isolatedTools = names.map(escapeVariables)
}

/** Drops empty names, which no tool has. */
function readToolNames(value: Json): readonly string[] | undefined {
  if (!isJsonList(value) || !value.every((name) => typeof name === 'string')) return undefined
  return value.filter((name) => name !== '')
}

export const title: KeyTranslator = (value, draft) => {
  if (typeof value === 'string') draft.title = escapeVariables(value)
}

export const description: KeyTranslator = (value, draft) => {
  if (typeof value === 'string') draft.description = escapeVariables(value)
}

/** Without meaning outside the agent. */
export const ignored: KeyTranslator = () => undefined

/** Left out, with a note for a person. */
export const omitWithNote =
  (why: string): KeyTranslator =>
  (_, draft, key) =>
    noteOnce(draft, `${quoteKey(key)} is left out: ${why}`)

export const oauth: KeyTranslator = omitWithNote('the gateway does not sign in by OAuth. Put a token into "headers".')

/** The keys that most agents share. */
export const SHARED_KEYS = { type, command, args, env, cwd, url, headers } as const satisfies Record<
  string,
  KeyTranslator
>

/** Our entry while it is built from an agent's entry. */
export interface ServerDraft {
  readonly variables: VariableSyntax
  readonly notes: string[]
  /** Why the entry cannot be translated. */
  refusal?: string
  remote?: 'http' | 'sse'
  command?: string
  args: readonly string[]
  readonly env: Map<string, string>
  cwd?: string
  url?: string
  readonly headers: Map<string, string>
  readonly timeouts: Map<'startup' | 'call', string>
  includeTools?: readonly string[]
  excludeTools?: readonly string[]
  isolated?: boolean
  isolatedTools?: readonly string[]
  title?: string
  description?: string
  enabled: boolean
}

export const createDraft = (variables: VariableSyntax): ServerDraft => ({
  variables,
  notes: [],
  args: [],
  env: new Map(),
  headers: new Map(),
  timeouts: new Map(),
  enabled: true,
})

/** Translates variables in a text to our syntax. */
function translateText(draft: ServerDraft, text: string): string {
  const { text: translated, notes } = translateVariables(text, draft.variables)
  draft.notes.push(...notes)
  return translated
}

/** Escapes text in which the agent expands no variables, so that we do not expand any either. */
const escapeVariables = (text: string): string => translateVariables(text, NO_VARIABLES).text

function noteOnce(draft: ServerDraft, note: string): void {
  if (!draft.notes.includes(note)) draft.notes.push(note)
}

/** Converts a value to a string argument; `undefined` if that is not possible. */
function toArgument(value: Json | undefined): string | undefined {
  if (typeof value === 'boolean' || Number.isFinite(value)) return String(value)
  return typeof value === 'string' && !value.includes('\0') ? value : undefined
}

/** The longest duration that our files allow. */
const MAX_DURATION_MS = 24 * 24 * 60 * 60 * 1000

/** Converts a number in the agent's unit to a duration string for our files. */
function toDurationString(value: Json | undefined, unit: 'ms' | 's'): string | undefined {
  const ms = typeof value === 'number' ? parseDuration(value, unit) : undefined
  if (ms === undefined || ms < 1) return undefined
  const whole = Math.min(Math.round(ms), MAX_DURATION_MS)
  return whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`
}
