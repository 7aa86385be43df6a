// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts show references.

/** A syntax in which agents write references to variables. */
export interface VariableSyntax {
  readonly reference: RegExp
  /** Parses a reference; `undefined` if it has no counterpart in our syntax. */
  parseReference(groups: readonly (string | undefined)[]): VariableReference | undefined
}

interface VariableReference {
  readonly variable: string
  readonly fallback?: string | undefined
  readonly note?: string
}

const NAME = /^[A-Za-z_]\w*$/

const toReference = (variable = '', fallback?: string): VariableReference | undefined =>
  // References within references cannot be written in our files.
  NAME.test(variable) && !fallback?.includes('${') ? { variable, fallback } : undefined

/** No references: every text is literal. */
export const NO_VARIABLES: VariableSyntax = { reference: /(?!)/g, parseReference: () => undefined }

/** `${VAR}` and `${VAR:-default}`. */
export const BRACED: VariableSyntax = {
  reference: /\$\{(\w+)(?::-([^}]*))?\}/g,
  parseReference: ([name, fallback]) => toReference(name, fallback),
}

/** The same, and `$VAR`. */
export const SHELL_LIKE: VariableSyntax = {
  reference: /\$(?:([A-Za-z_]\w*)|\{(\w+)(?::-([^}]*))?\})/g,
  parseReference: ([bare, braced, fallback]) => toReference(bare ?? braced, fallback),
}

/** The same, and `$(command)`, which has no counterpart. */
export const SHELL_WITH_COMMANDS: VariableSyntax = {
  reference: /\$(?:([A-Za-z_]\w*)|\{(\w+)(?::-([^}]*))?\}|\([^)]*\))/g,
  parseReference: ([bare, braced, fallback]) => toReference(bare ?? braced, fallback),
}

/** `{env:VAR}`; `{file:path}` has no counterpart. */
export const ENV_COLON: VariableSyntax = {
  reference: /\{(env|file):([^}]*)\}/g,
  parseReference: ([kind, name]) => (kind === 'env' ? toReference(name?.trim()) : undefined),
}

/** `${env:VAR}`, `${userHome}`, `${input:id}` of editors; what depends on the open folder has no counterpart. */
export const EDITOR: VariableSyntax = {
  reference: /\$\{([^}]*)\}/g,
  parseReference: ([inner = '']) => {
    if (inner === 'userHome') return { variable: 'HOME' }
    const [, kind, name = ''] = /^(env|input):(.+)$/.exec(inner) ?? []
    if (kind === 'env') return toReference(name)
    if (kind !== 'input') return undefined
    const variable = `INPUT_${name.replaceAll(/\W+/g, '_').toUpperCase()}`
    return { variable, note: `The agent asks for an input; here it has to be in the variable ${variable}.` }
  },
}

/** `${{ secrets.VAR }}` and `${{ inputs.VAR }}`. */
export const DOUBLE_BRACED: VariableSyntax = {
  reference: /\$\{\{\s*(?:secrets|inputs)\.([^}\s]*)\s*\}\}/g,
  parseReference: ([name]) => toReference(name),
}

export interface TranslatedText {
  readonly text: string
  readonly notes: readonly string[]
}

/** Translates references to our syntax, and escapes everything else that looks like one. */
export function translateVariables(text: string, syntax: VariableSyntax): TranslatedText {
  const notes: string[] = []
  let translated = ''
  /** Collected and escaped together: a `$` and the `{` after it may come from different parts. */
  let plain = ''
  let at = 0
  for (const match of text.matchAll(syntax.reference)) {
    const meant = syntax.parseReference(match.slice(1))
    plain += text.slice(at, match.index)
    at = match.index + match[0].length
    if (meant === undefined) {
      notes.push('A reference has no counterpart and stays as plain text.')
      plain += match[0]
      continue
    }
    if (meant.note !== undefined) notes.push(meant.note)
    // `$${` would be an escape and not a reference.
    if (plain.endsWith('$')) notes.push('A "$" right before a variable cannot be written: check the value.')
    translated += escapeReferences(plain) + formatReference(meant)
    plain = ''
  }
  return { text: translated + escapeReferences(plain + text.slice(at)), notes }
}

const escapeReferences = (text: string): string => text.replaceAll('${', '$$${')

const formatReference = ({ variable, fallback }: VariableReference): string =>
  fallback === undefined ? `\${${variable}}` : `\${${variable}:-${fallback}}`
