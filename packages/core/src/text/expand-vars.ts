// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the messages show the grammar of references.

/** Why a text could not be expanded. It never contains the value of a variable. */
export interface VarIssue {
  readonly kind: 'unset' | 'malformed'
  /** The variable, if it could be recognized. */
  readonly variable: string | undefined
  readonly message: string
}

export type Expansion =
  /** `used`: part of the value came from a variable, so it may be secret. */
  | { readonly ok: true; readonly value: string; readonly used: boolean }
  | { readonly ok: false; readonly issues: readonly VarIssue[] }

const REFERENCE = /^([A-Za-z_][A-Za-z0-9_]*)(?::([-?])(.*))?$/s

/**
 * Expands `${VAR}`, `${VAR:-default}` and `${VAR:?message}`; `$${` means a literal `${`. Any other `$` is a plain `$`.
 * The value of a variable is never expanded again. As in a shell, `:-` and `:?` treat an empty variable as unset.
 */
export function expandVars(text: string, lookup: (name: string) => string | undefined): Expansion {
  const issues: VarIssue[] = []
  let value = ''
  let used = false
  let at = 0
  for (;;) {
    const open = text.indexOf('${', at)
    if (open < 0) break
    if (open > at && text[open - 1] === '$') {
      value += `${text.slice(at, open - 1)}\${`
      at = open + 2
      continue
    }
    value += text.slice(at, open)
    const close = text.indexOf('}', open)
    if (close < 0) {
      issues.push(malformed('"${" without its "}"'))
      return { ok: false, issues }
    }
    const found = resolve(text.slice(open + 2, close), lookup)
    if (typeof found === 'string') value += found
    else issues.push(found)
    used = true
    at = close + 1
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, value: value + text.slice(at), used }
}

function resolve(reference: string, lookup: (name: string) => string | undefined): string | VarIssue {
  const match = REFERENCE.exec(reference)
  const name = match?.[1]
  if (name === undefined) return malformed('"${…}" that names no variable: expected ${NAME} of letters, digits and "_"')
  const [, , operator, word = ''] = match ?? []
  if (word.includes('${')) return malformed(`a variable inside \${${name}:…}: references cannot be nested`, name)
  const value = lookup(name)
  if (value !== undefined && (value !== '' || operator === undefined)) return value
  if (operator === '-') return word
  return { kind: 'unset', variable: name, message: unset(name, word) }
}

const unset = (name: string, word: string): string =>
  word === '' ? `the variable ${name} is not set` : `the variable ${name} is not set: ${word}`

const malformed = (message: string, variable?: string): VarIssue => ({ kind: 'malformed', variable, message })
