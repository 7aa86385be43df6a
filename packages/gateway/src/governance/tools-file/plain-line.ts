import { QUOTED, unquote } from './quoted-text.ts'

export type PlainValue = string | number | boolean | null | readonly (string | boolean | null)[]

/** A simple line, `key: value # comment`, which can be read without the YAML parser. */
export interface PlainLine {
  readonly key: string
  readonly value: PlainValue
  /** The range of the value in the line, relative to the key. */
  readonly from: number
  readonly to: number
}

const SINGLE = "'[^'\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufeff]*'"
const WORD = '[A-Za-z_/][\\w./*-]*'
const ITEM = `(?:${QUOTED}|${SINGLE}|${WORD})`
const LIST = `\\[ *(?:${ITEM}(?: *, *${ITEM})*)? *\\]`
/** No hash and no colon before a space, because these could end the value. Only single spaces, for speed. */
const WORD_OF_PROSE = `(?:[\\w.,;()/'"+=?*&!%@<>$-]|:(?=[\\w/]))`
const PROSE = `[A-Za-z_]${WORD_OF_PROSE}*(?: ${WORD_OF_PROSE}+)*`
const WHOLE = '0|[1-9][0-9]{0,14}'
const COMMENT = '(?:(?<= )#.*)?'

const LINE = new RegExp(`^([A-Za-z_]\\w*):(?: +(${QUOTED}|${SINGLE}|${LIST}|${PROSE}|${WHOLE}))? *${COMMENT}$`)
/** A pin as discovery writes it. Every entry has a different pin, and the general pattern is slower. */
const PIN = /^pin: "(sha256-[0-9a-f]{64})" *(?:(?<= )#.*)?$/
const ITEMS = new RegExp(ITEM, 'g')

/** Words that some YAML version does not read as strings, in any case. */
export const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i

/** Reads a line without its indentation; `undefined` if it is not a simple line. */
export function readPlainLine(line: string): PlainLine | undefined {
  const pin = PIN.exec(line)?.[1]
  if (pin !== undefined) return { key: 'pin', value: pin, from: 5, to: 7 + pin.length }
  const match = LINE.exec(line)
  const key = match?.[1]
  if (match === null || key === undefined || RESERVED.test(key)) return undefined
  const written = match[2] ?? ''
  const from = line.indexOf(written, key.length + 1)
  const to = from + written.length
  if (!written.startsWith('[')) return { key, value: readScalar(written), from, to }
  return { key, value: Array.from(written.matchAll(ITEMS), ([item]) => readString(item)), from, to }
}

function readScalar(written: string): string | number | boolean | null {
  if (written === '') return null
  return /^[0-9]/.test(written) ? Number(written) : readString(written)
}

/** By the core schema of YAML 1.2, in which `yes` is an ordinary string. */
function readString(written: string): string | boolean | null {
  if (written.startsWith('"')) return unquote(written)
  if (written.startsWith("'")) return written.slice(1, -1)
  if (/^(?:true|True|TRUE)$/.test(written)) return true
  if (/^(?:false|False|FALSE)$/.test(written)) return false
  return /^(?:null|Null|NULL)$/.test(written) ? null : written
}
