// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the messages show the grammar of references.

/** `$NAME`, `${…}`, and what a shell takes for a parameter of its own: `$1`, `$@`. */
const REFERENCE = /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([^}]*)\}|([0-9@*#?!$-]))/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** How variables are named everywhere; `$id.tsx` is the name of a file. */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/
const BEGINS = /^\$(?:[A-Z_]|\{[A-Z_])/
const COMMAND = /\$\(|`/

type Lookup = (name: string) => string | undefined

/** What a text may become, or why that cannot be told. */
export type Respellings = { readonly texts: readonly string[] } | { readonly problem: string }

/** Whether it begins with what is surely meant as a variable. */
export const beginsWithReference = (text: string): boolean => BEGINS.test(text)

/**
 * The caller's value is not a template of ours, but the server may hand it to a shell. What it would hold there is judged;
 * a reference that looks like none (`$id`) may stay as it is or vanish, so both are.
 */
export function expandReferences(text: string, lookup: Lookup): Respellings {
  if (COMMAND.test(text)) return { problem: 'it has a command for a shell in it' }
  if (!text.includes('$')) return { texts: [] }
  const names = [...text.matchAll(REFERENCE)].map(readReferenceName)
  for (const name of names) {
    if (name === undefined) return { problem: 'it has a "${…}" in it that is more than the name of a variable' }
    if (lookup(name) === undefined && VARIABLE.test(name)) return { problem: `the variable ${name} is not known` }
  }
  return {
    texts: [replaced(text, (name) => lookup(name) ?? ''), replaced(text, (name, whole) => lookup(name) ?? whole)],
  }
}

const replaced = (text: string, value: (name: string, whole: string) => string): string =>
  text.replaceAll(REFERENCE, (...match: readonly unknown[]) =>
    value(readReferenceName(match as readonly (string | undefined)[]) ?? '', match[0] as string),
  )

/** What a reference names; undefined where it is one of the forms that compute something. */
function readReferenceName([, plain, braced, special]: readonly (string | undefined)[]): string | undefined {
  if (braced !== undefined) return NAME.test(braced) ? braced : undefined
  return plain ?? special
}
