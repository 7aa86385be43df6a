import { didYouMean } from './closest.ts'
import { quoteText } from './excerpt.ts'
import { readFieldPath, stepInto } from './field-path.ts'
import type { Json } from './json/json.ts'
import { memberNames } from './schema-view.ts'

const SHOWN = 60

/** Says that a tool with this input schema takes no argument that a rule calls so; nothing where it does, or may. */
export function unknownArgument(name: string, inputSchema: Json | undefined): string | undefined {
  const known = memberNames(inputSchema)
  if (known === undefined || known.some((key) => stepInto(readFieldPath(name), key) !== undefined)) return undefined
  return `it takes no argument ${quoteText(name, SHOWN)}.${didYouMean(name, known)}`
}
