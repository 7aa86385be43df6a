import { isJsonList, isJsonObject, type Json } from '@sallyport/core'

/** What a record does not tell of the arguments of its call. */
export interface ArgumentGaps {
  /** Values of which something is missing, in their places, and nothing else. */
  readonly values: Json | undefined
  /** Nothing is told, or even names are missing. */
  readonly isOpen: boolean
  /** A key or a token of a known shape stood somewhere. */
  readonly hidSecret: boolean
}

const NONE: ArgumentGaps = Object.freeze({ values: undefined, isOpen: false, hidSecret: false })
const ALL: ArgumentGaps = Object.freeze({ values: undefined, isOpen: true, hidSecret: false })

/** As `toRecordedArguments` writes them: a caller that writes the like is undecided about, which harms nobody. */
const HIDDEN = /\[redacted: [^\]]*\]|•••/
const CUT = /\[cut: \d+ characters in all\]$/
/** In the place of what may have had any number of parts. */
const PARTS = /^\[left out|^\[redacted: by its name, with all that is in it\]$/
const CHANGED_NAME = /\[redacted: |… #\d+$|^\[left out\]$|^\[redaction failed\]$/
const SHAPE = /^(text of \d+|number|boolean|null)$/

export function findArgumentGaps(kept: Json | undefined): ArgumentGaps {
  if (kept === undefined || isShape(kept)) return ALL
  const names = { changed: false }
  const values = collectGaps(kept, names)
  if (values === undefined && !names.changed) return NONE
  return { values, isOpen: names.changed, hidSecret: hidesSecret(JSON.stringify(kept)) }
}

const hidesSecret = (text: string): boolean => HIDDEN.test(text.replaceAll(/\[redacted: by its name[^\]]*\]/g, ''))

/** The same value with only those of its parts that are not whole. */
function collectGaps(value: Json, names: { changed: boolean }): Json | undefined {
  if (typeof value === 'string') {
    names.changed ||= PARTS.test(value)
    return HIDDEN.test(value) || CUT.test(value) ? value : undefined
  }
  if (isJsonList(value)) {
    const items = value.map((item) => collectGaps(item, names))
    return items.every((item) => item === undefined) ? undefined : items.map((item) => item ?? null)
  }
  if (!isJsonObject(value)) return undefined
  names.changed ||= Object.keys(value).some((name) => CHANGED_NAME.test(name))
  const members = Object.entries(value).flatMap(([name, member]) => {
    const gaps = collectGaps(member as Json, names)
    return gaps === undefined ? [] : [[name, gaps] as const]
  })
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/** Where shapes are kept there is nothing but the words for them. Arguments that hold no value are whole either way. */
function isShape(value: Json): boolean {
  const leaves = leavesOf(value)
  return leaves.length > 0 && leaves.every((leaf) => typeof leaf === 'string' && SHAPE.test(leaf))
}

function leavesOf(value: Json): readonly Json[] {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.values(value).flatMap((member) => leavesOf(member as Json))
}
