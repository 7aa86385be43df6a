import { isJsonList, isJsonObject, type Json } from '@sallyport/core'

/** The parts of a call's arguments that its record does not contain. */
export interface ArgumentGaps {
  /** Only the incomplete values, at their original positions. */
  readonly values: Json | undefined
  /** The record has no arguments, or some of their names are missing. */
  readonly isOpen: boolean
  /** A key or token of a known format was hidden somewhere. */
  readonly hidSecret: boolean
}

const NONE: ArgumentGaps = Object.freeze({ values: undefined, isOpen: false, hidSecret: false })
const ALL: ArgumentGaps = Object.freeze({ values: undefined, isOpen: true, hidSecret: false })

/** The markers that `toRecordedArguments` writes. If a caller wrote the same text itself, its call is undecided, which is harmless. */
const HIDDEN = /\[redacted: [^\]]*\]|•••/
const CUT = /\[cut: \d+ characters in all\]$/
/** Replaces a value that may have had any number of parts. */
const PARTS = /^\[left out|^\[redacted: by its name, with all that is in it\]$/
const CHANGED_NAME = /\[redacted: |… #\d+$|^\[left out\]$|^\[redaction failed\]$/
const SHAPE = /^(text of \d+|number|boolean|null)$/

export function findArgumentGaps(recorded: Json | undefined): ArgumentGaps {
  if (recorded === undefined || isShape(recorded)) return ALL
  const names = { changed: false }
  const values = collectGaps(recorded, names)
  if (values === undefined && !names.changed) return NONE
  return { values, isOpen: names.changed, hidSecret: hidesSecret(JSON.stringify(recorded)) }
}

const hidesSecret = (text: string): boolean => HIDDEN.test(text.replaceAll(/\[redacted: by its name[^\]]*\]/g, ''))

/** The same value with only its incomplete parts. */
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

/** Whether the record has only the types of values. Arguments without any value are complete in both cases. */
function isShape(value: Json): boolean {
  const leaves = listLeaves(value)
  return leaves.length > 0 && leaves.every((leaf) => typeof leaf === 'string' && SHAPE.test(leaf))
}

function listLeaves(value: Json): readonly Json[] {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.values(value).flatMap((member) => listLeaves(member as Json))
}
