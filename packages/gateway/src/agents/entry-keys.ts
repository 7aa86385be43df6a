import { isJsonList, isJsonObject, type Json, quoteText } from '@sallyport/core'
import { durationText, noteOnce, plainWord, type ServerDraft, translate, verbatim } from './server-draft.ts'

/** What one key of a native entry means for ours. */
export type EntryKey = (value: Json, draft: ServerDraft, key: string) => void

const MAX_SHOWN = 60
export const shown = (key: string): string => quoteText(key, MAX_SHOWN)

const leaveOut = (draft: ServerDraft, key: string, expected: string): void =>
  noteOnce(draft, `${shown(key)} is left out: expected ${expected}.`)

/** A program, or the program and its arguments. */
export const command: EntryKey = (value, draft, key) => {
  const words = isJsonList(value) ? wordsOf(value) : wordsOf([value])
  const [program, ...args] = words ?? []
  if (program === undefined || program.trim() === '') return leaveOut(draft, key, 'a program')
  draft.command = translate(draft, program)
  draft.args = [...args.map((word) => translate(draft, word)), ...draft.args]
}

export const args: EntryKey = (value, draft, key) => {
  const words = isJsonList(value) ? wordsOf(value) : undefined
  if (words === undefined) {
    // Started without its arguments it would be another program.
    draft.refusal = `expected ${shown(key)} to be a list of texts.`
    return
  }
  draft.args = [...draft.args, ...words.map((word) => translate(draft, word))]
}

function wordsOf(values: readonly Json[]): readonly string[] | undefined {
  const words = values.map(plainWord)
  return words.every((word) => word !== undefined) ? words : undefined
}

export const env: EntryKey = (value, draft, key) => {
  if (!isJsonObject(value)) return leaveOut(draft, key, 'a mapping of names to texts')
  for (const [name, part] of Object.entries(value)) {
    const word = plainWord(part)
    if (word === undefined || !isVariableName(name)) leaveOut(draft, `${key}.${name}`, 'a text')
    else draft.env.set(name, translate(draft, word))
  }
}

/** Names of variables that are passed on as they are. */
export const passedVariables: EntryKey = (value, draft, key) => {
  for (const item of isJsonList(value) ? value : [value]) {
    const name = isJsonObject(item) ? item.name : item
    if (typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)) {
      if (!draft.env.has(name)) draft.env.set(name, `\${${name}}`)
    } else leaveOut(draft, key, 'names of variables')
  }
}

const isVariableName = (name: string): boolean => name !== '' && !/[=\0]/.test(name)

export const cwd: EntryKey = (value, draft, key) => {
  if (typeof value !== 'string' || value.trim() === '' || value.includes('\0')) return leaveOut(draft, key, 'a folder')
  draft.cwd = translate(draft, value)
}

/** The address of a server; which transport it speaks may also be said by the type. */
export const url: EntryKey = (value, draft, key) => {
  if (typeof value !== 'string' || value.trim() === '') return leaveOut(draft, key, 'an address')
  if (draft.url !== undefined) return noteOnce(draft, `${shown(key)} is left out: there is another address.`)
  draft.url = translate(draft, value.trim())
}

/** An address of the older SSE transport, where a type does not say otherwise. */
export const sseUrl: EntryKey = (value, draft, key) => {
  url(value, draft, key)
  draft.remote ??= 'sse'
}

/** An address of Streamable HTTP. It counts more than another one. */
export const httpUrl: EntryKey = (value, draft, key) => {
  if (draft.url !== undefined) noteOnce(draft, `An address beside ${shown(key)} is left out.`)
  delete draft.url
  url(value, draft, key)
  draft.remote = 'http'
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

export const headers: EntryKey = (value, draft, key) => {
  if (!isJsonObject(value)) return leaveOut(draft, key, 'a mapping of names to texts')
  for (const [name, part] of Object.entries(value)) {
    const word = plainWord(part)
    if (word === undefined || !HEADER_VALUE.test(word)) leaveOut(draft, `${key}.${name}`, 'a text on one line')
    else setHeader(draft, name, translate(draft, word))
  }
}

/** Headers whose values are in variables. */
export const variableHeaders: EntryKey = (value, draft, key) => {
  if (!isJsonObject(value)) return leaveOut(draft, key, 'a mapping of headers to variables')
  for (const [name, variable] of Object.entries(value)) {
    if (typeof variable === 'string' && /^[A-Za-z_]\w*$/.test(variable)) setHeader(draft, name, `\${${variable}}`)
    else leaveOut(draft, `${key}.${name}`, 'the name of a variable')
  }
}

export const bearerVariable: EntryKey = (value, draft, key) => {
  if (typeof value !== 'string' || !/^[A-Za-z_]\w*$/.test(value)) return leaveOut(draft, key, 'the name of a variable')
  setHeader(draft, 'Authorization', `Bearer \${${value}}`)
}

function setHeader(draft: ServerDraft, name: string, value: string): void {
  const twin = [...draft.headers.keys()].find((other) => other.toLowerCase() === name.toLowerCase())
  if (!HEADER_NAME.test(name) || twin !== undefined) leaveOut(draft, name, 'a header name that stands once')
  else draft.headers.set(name, value)
}

export const type: EntryKey = (value, draft) => {
  const word = typeof value === 'string' ? value.toLowerCase().replaceAll(/[-_]/g, '') : undefined
  if (word === 'sse') draft.remote = 'sse'
  else if (word === 'http' || word === 'streamablehttp' || word === 'remote') draft.remote = 'http'
  else if (word !== 'stdio' && word !== 'local') draft.refusal = 'it is of a type that the gateway does not speak.'
}

export const enabled: EntryKey = (value, draft) => {
  if (value === false) draft.enabled = false
}

export const disabled: EntryKey = (value, draft) => {
  if (value === true) draft.enabled = false
}

const timeout =
  (limit: 'startup' | 'call', unit: 'ms' | 's'): EntryKey =>
  (value, draft, key) => {
    const text = durationText(value, unit)
    if (text === undefined) leaveOut(draft, key, 'a time')
    else draft.timeouts.set(limit, text)
  }

export const callMilliseconds = timeout('call', 'ms')
export const callSeconds = timeout('call', 's')
export const startupMilliseconds = timeout('startup', 'ms')
export const startupSeconds = timeout('startup', 's')

/** Tools that alone are offered. A list that cannot be read leaves none, since it narrowed the server down. */
export const includeTools: EntryKey = (value, draft, key) => {
  const names = namesOf(value)
  // In our file they would be patterns.
  const plain = names?.filter((name) => !/[*?]/.test(name))
  if (plain?.length !== names?.length || names === undefined) leaveOut(draft, key, 'a list of names of tools')
  draft.includeTools = (plain ?? []).map(verbatim)
}

/** The same, where `*` stands for all. */
export const includeToolsOrAll: EntryKey = (value, draft, key) => {
  if (!namesOf(value)?.includes('*')) includeTools(value, draft, key)
}

export const excludeTools: EntryKey = (value, draft, key) => {
  const names = namesOf(value)
  if (names === undefined) {
    draft.refusal = `expected ${shown(key)} to be a list of tools.`
    return
  }
  draft.excludeTools = names.map(verbatim)
}

/** Ours, and honoured wherever they stand (ISO-1). One that cannot be read must not leave its server without isolation. */
export const isolated: EntryKey = (value, draft, key) => {
  if (typeof value === 'boolean') draft.isolated = value
  else draft.refusal = `expected ${shown(key)} to be true or false.`
}

export const isolatedTools: EntryKey = (value, draft, key) => {
  const names = namesOf(value)
  if (names === undefined) draft.refusal = `expected ${shown(key)} to be a list of names of tools.`
  else draft.isolatedTools = names.map(verbatim)
}

/** No tool is called by an empty name. */
function namesOf(value: Json): readonly string[] | undefined {
  if (!isJsonList(value) || !value.every((name) => typeof name === 'string')) return undefined
  return value.filter((name) => name !== '')
}

export const title: EntryKey = (value, draft) => {
  if (typeof value === 'string') draft.title = verbatim(value)
}

export const description: EntryKey = (value, draft) => {
  if (typeof value === 'string') draft.description = verbatim(value)
}

/** Of no meaning outside of the agent. */
export const ownAffair: EntryKey = () => undefined

/** Left out, with what a person should know about it. */
export const leftOut =
  (why: string): EntryKey =>
  (_, draft, key) =>
    noteOnce(draft, `${shown(key)} is left out: ${why}`)

export const oauth: EntryKey = leftOut('the gateway does not sign in by OAuth. Put a token into "headers".')

/** What most agents call alike. */
export const PLAIN_KEYS = { type, command, args, env, cwd, url, headers } as const satisfies Record<string, EntryKey>
