import type { Json } from '../json/json.ts'
import { readFieldPath, stepInto } from '../policy/field-path.ts'
import { quoteText } from '../text/excerpt.ts'
import { didYouMean } from '../text/find-closest.ts'
import { listMemberNames } from './schema-branches.ts'

const MAX_SHOWN_LENGTH = 60

/** Explains that a tool with this schema has no argument of this name; `undefined` if it has or may have one. */
export function checkArgumentName(name: string, inputSchema: Json | undefined): string | undefined {
  const known = listMemberNames(inputSchema)
  if (known === undefined || known.some((key) => stepInto(readFieldPath(name), key) !== undefined)) return undefined
  return `it takes no argument ${quoteText(name, MAX_SHOWN_LENGTH)}.${didYouMean(name, known)}`
}
