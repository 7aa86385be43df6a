import jsYaml from 'js-yaml'
import { parseDocument } from 'yaml'

/** Parses a text with another YAML parser; `undefined` if that parser rejects it. */
export type Oracle = (text: string) => { readonly value: unknown } | undefined

const byYaml =
  (version: '1.1' | '1.2', schema: 'core' | 'yaml-1.1'): Oracle =>
  (text) => {
    const document = parseDocument(text, { version, schema, merge: true, logLevel: 'error', prettyErrors: false })
    if (document.errors.length > 0 || document.warnings.length > 0) return undefined
    try {
      return { value: document.toJS() }
    } catch {
      return undefined
    }
  }

export const yaml12: Oracle = byYaml('1.2', 'core')

/** Other readers of tools.yaml: another parser, and the older version of YAML. */
export const ORACLES: Readonly<Record<string, Oracle>> = {
  'yaml 1.2': yaml12,
  'yaml 1.1': byYaml('1.1', 'yaml-1.1'),
  'js-yaml': (text) => {
    try {
      return { value: jsYaml.safeLoad(text) ?? null }
    } catch {
      return undefined
    }
  },
}
