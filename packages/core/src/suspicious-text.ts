import { findInstruction } from './instruction-phrases.ts'
import { nameTokens, readableText } from './name-tokens.ts'

const MAX_SPACES = 80
const MAX_SHORT_LINES = 12
/** A line of so few signs shows nothing. */
const SHORT_LINE = 2

/** White space, or lines with next to nothing on them, behind which a reader does not look. Linear. */
export function findPadding(text: string): string | undefined {
  if (text.length < MAX_SHORT_LINES) return undefined
  return longGap(text) ?? shortLines(text)
}

const GAP = /[\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]+/g

function longGap(text: string): string | undefined {
  for (const { 0: gap, index } of text.matchAll(GAP)) {
    const after = text[index + gap.length]
    if (gap.length >= MAX_SPACES && after !== undefined && after !== '\n' && after !== '\r')
      return `${gap.length} spaces in a row`
  }
  return undefined
}

function shortLines(text: string): string | undefined {
  let run = 0
  for (const line of text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)) {
    if (line.replaceAll(/[\s\u2800]/g, '').length <= SHORT_LINE) run++
    else if (run >= MAX_SHORT_LINES) return `${run} empty lines in a row`
    else run = 0
  }
  return undefined
}

const HIDING_MARKUP =
  /<!--|\[\/\/\]: ?#|\[comment\]: ?<?#|display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|<script\b|<style\b/i

/** Markup that is not shown where its text is. */
export function findHidingMarkup(text: string): string | undefined {
  const at = text.search(HIDING_MARKUP)
  return at === -1 ? undefined : text.slice(at)
}

const BASE64 = /[A-Za-z0-9+/_-]{20,}/g
const HEX = /(?:[0-9a-fA-F]{2}[ :]?){16,}/g
const ESCAPES = /(?:%[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|&#x?[0-9a-fA-F]{1,6};?){8,}/g
const SPELLED = /(?<![A-Za-z])(?:[A-Za-z][ ._*|-]{1,2}){10,}[A-Za-z](?![A-Za-z])/
const ESCAPE = /%([0-9a-f]{2})|\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?/gi

/** Text in an encoding that a model reads and a person does not. Keys, digests and pictures are no text. */
export function findEncoded(text: string): string | undefined {
  if (text.length < 20) return undefined
  const joined = text.replaceAll(/(?<=[A-Za-z0-9+/_=-]{16})[\r\n]+[\t ]*(?=[A-Za-z0-9+/_=-]{2})/g, '')
  for (const [match] of joined.matchAll(BASE64)) {
    const decoded = fromBytes(base64Bytes(match))
    if (isMessage(decoded)) return `${match.slice(0, 20)}… says: ${decoded}`
  }
  for (const [match] of text.matchAll(HEX)) {
    const digits = match.replaceAll(/[ :]/g, '').match(/../g) ?? []
    const decoded = fromBytes(digits.map((pair) => Number.parseInt(pair, 16)))
    if (isMessage(decoded)) return `${match.slice(0, 20)}… says: ${decoded}`
  }
  for (const [match] of text.matchAll(ESCAPES)) return `${match.slice(0, 20)}… says: ${unescaped(match)}`
  return SPELLED.exec(text)?.[0]
}

const SIGNS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function base64Bytes(text: string): readonly number[] {
  const bytes: number[] = []
  let bits = 0
  let count = 0
  for (const sign of text.replaceAll('-', '+').replaceAll('_', '/')) {
    bits = ((bits << 6) | SIGNS.indexOf(sign)) & 0xffffff
    count += 6
    if (count < 8) continue
    count -= 8
    bytes.push((bits >> count) & 0xff)
  }
  return bytes
}

/** What is not UTF-8 is no text: a sign stands for it that nobody prints. */
function fromBytes(bytes: readonly number[]): string {
  try {
    return decodeURIComponent(bytes.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''))
  } catch {
    return '\0'
  }
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPE, (_, ...codes: (string | undefined)[]) => {
    const hex = codes.slice(0, 4).find((code) => typeof code === 'string')
    const code = hex === undefined ? Number(codes[4]) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
}

const NOT_PRINTED = /[^\t\n\r\x20-\x7e\u00a0-\ufffc]|\ufffd/
const WORDS = /[\p{L}'’]{2,}(?:[\s,.:;!?-]+[\p{L}'’]{1,}){2}/u

/** Whether somebody could read it: a drawing or a document is only what its instructions make of it. */
function isMessage(decoded: string): boolean {
  if (NOT_PRINTED.test(decoded)) return false
  if (/^\s*(?:<svg|<\?xml|[{[]")/.test(decoded)) return findInstruction(decoded) !== undefined
  return WORDS.test(decoded)
}

const PICTURE = /!\[[^\]\n]{0,200}\]\(\s{0,3}<?(?:https?:)?\/\/[^\s)]{1,200}|<img\b[^>]{0,200}\bsrc\s{0,3}=[^>]{1,200}/i
const TELLING =
  '(?:data|secrets?|conversations?|chat|history|prompts?|tokens?|keys?|passwords?|credentials?|env|files?|contents?|messages?|base64|encoded|payload|output|response|results?|context|memory)'
const TELLING_URL = new RegExp(
  String.raw`https?:\/\/[^\s"'<>]{1,200}[?&/=](?:\{|<|\$\{?|\[|%7b|%3c)[^\s"'>}\]]{0,30}${TELLING}`,
  'i',
)

/** An address that would carry data away as soon as somebody renders or opens it. */
export function findExfiltration(text: string): string | undefined {
  if (!text.includes('//')) return undefined
  return (PICTURE.exec(text) ?? TELLING_URL.exec(text))?.[0]
}

const TAKING = new Set([
  'content',
  'contents',
  'read',
  'reading',
  'dump',
  'body',
  'text',
  'value',
  'data',
  'from',
  'of',
])
const PRIVATE_FILES = [
  ['ssh'],
  ['rsa'],
  ['passwd'],
  ['shadow'],
  ['aws', 'credentials'],
  ['env', 'file'],
  ['dotenv'],
  ['mcp', 'json'],
  ['bash', 'history'],
  ['shell', 'history'],
  ['keychain'],
  ['wallet'],
  ['seed', 'phrase'],
  ['private', 'key'],
  ['browser', 'cookies'],
  ['environment', 'variables'],
]
const OWN_FILES = [
  ['id', 'rsa'],
  ['id', 'ed', '25519'],
  ['id', 'ed25519'],
  ['etc', 'passwd'],
  ['etc', 'shadow'],
]
const WHOLE = new Set(['entire', 'full', 'whole', 'complete', 'all', 'your', 'current', 'previous', 'raw', 'original'])
const TALK = [['system', 'prompt'], ['conversation'], ['chat'], ['transcript'], ['messages'], ['instructions']]
const MODEL_ONLY = [
  ['conversation', 'history'],
  ['chat', 'history'],
  ['message', 'history'],
  ['chain', 'of', 'thought'],
  ['tools', 'list'],
  ['tool', 'list'],
  ['available', 'tools'],
  ['hidden', 'instructions'],
  ['system', 'instructions'],
]

/** A name that makes a model fill in what it knows: keys on the disk, or what was said to it. */
export function isPryingName(name: string): boolean {
  if (name.length < 4) return false
  const tokens = nameTokens(readableText(name))
  const has = (words: readonly string[]): boolean =>
    tokens.some((_, at) => words.every((word, offset) => tokens[at + offset] === word))
  if (OWN_FILES.some(has) || MODEL_ONLY.some(has)) return true
  if (tokens.some((token) => TAKING.has(token)) && PRIVATE_FILES.some(has)) return true
  return tokens.some((token) => WHOLE.has(token)) && TALK.some(has)
}
