import { type Json, SallyportError } from '@sallyport/core'
import type { Document, LineCounter } from 'yaml'
import type { ConfigFile } from './config-file.ts'

export type ConfigPath = readonly (string | number)[]

export interface ConfigTree {
  readonly value: Json
  /** `config.yaml:12`, for messages. */
  locate(path: ConfigPath): string
}

/** YAML 1.2 or JSON. What the parser says may quote the file, and so a secret: only the line is passed on. */
export async function parseConfig({ path, text }: ConfigFile): Promise<ConfigTree> {
  const { LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = tryOrUndefined(() =>
    parseDocument(text, { version: '1.2', schema: 'core', prettyErrors: false, logLevel: 'error', lineCounter }),
  )
  const problem = document?.errors[0]
  if (document === undefined || problem !== undefined) {
    const line = problem === undefined ? '' : `:${lineCounter.linePos(problem.pos[0]).line}`
    throw invalidYaml(`${path}${line}`)
  }
  const value = tryOrUndefined(() => (document.toJS({ maxAliasCount: 100 }) ?? null) as Json)
  if (value === undefined) throw invalidYaml(path)
  return { value, locate: (key) => locateKey({ document, lineCounter, path }, key) }
}

/** The composer recurses and aliases multiply: what is too deep or too much throws. */
function tryOrUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

interface ConfigDocument {
  readonly document: Document.Parsed
  readonly lineCounter: LineCounter
  readonly path: string
}

/** The line of the value, or of the nearest one around it. */
function locateKey({ document, lineCounter, path }: ConfigDocument, key: ConfigPath): string {
  for (let length = key.length; length > 0; length--) {
    const node: unknown = document.getIn(key.slice(0, length), true)
    const range = (node as { readonly range?: readonly number[] } | undefined)?.range
    if (range?.[0] !== undefined) return `${path}:${lineCounter.linePos(range[0]).line}`
  }
  return path
}

const invalidYaml = (place: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${place} is not valid YAML, or nested too deeply.`, {
    hint: 'Look for a missing quote, bracket, ":" or space there, a tab as indentation, or a key that stands twice.',
  })
