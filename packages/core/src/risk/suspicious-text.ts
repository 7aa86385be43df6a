import { findInstruction } from './instruction-phrases.ts'
import { normalizeLookalikes, tokenizeName } from './tokenize-name.ts'

const MAX_SPACES = 80
const MAX_SIGNS = 200
const MAX_SHORT_LINES = 12
/** A line with at most two characters, or with one symbol repeated. A fence of backticks does not count. */
const EMPTY_LINE = /^(?:.{0,2}|([^\p{L}\p{N}`])\1*)$/u

const BREAK = /<br ?\/?>/gi
const SPACE_ENTITY = /&(?:nbsp|ensp|emsp|thinsp|#160|#xa0);/gi

/** White space or nearly empty lines that push the rest out of view. Runs in linear time. */
export function findPadding(text: string): string | undefined {
  if (text.length < MAX_SHORT_LINES) return undefined
  const shown = text.replaceAll(BREAK, '\n').replaceAll(SPACE_ENTITY, ' ')
  const spaces = longestRun(shown, SPACES)
  if (spaces >= MAX_SPACES) return `${spaces} spaces in a row`
  const signs = longestRun(shown, NO_LETTERS)
  return findEmptyLines(shown) ?? (signs >= MAX_SIGNS ? `${signs} signs in a row without a letter` : undefined)
}

const SPACES = /[\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]+/g
const NO_LETTERS = /[^\p{L}\p{N}]+/gu

/** The longest run that is followed by something on the same line. */
function longestRun(text: string, pattern: RegExp): number {
  let longest = 0
  for (const { 0: run, index } of text.matchAll(pattern)) {
    const after = text[index + run.length]
    if (after !== undefined && after !== '\n' && after !== '\r') longest = Math.max(longest, run.length)
  }
  return longest
}

function findEmptyLines(text: string): string | undefined {
  let run = 0
  for (const line of text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)) {
    if (EMPTY_LINE.test(line.replaceAll(/[\s\u2800]/g, ''))) run++
    else if (run >= MAX_SHORT_LINES) return `${run} empty lines in a row`
    else run = 0
  }
  return undefined
}

const HIDING_MARKUP =
  /<!(?:--|doctype|entity|\[cdata)|\[\/\/\]: ?#|\[comment\]: ?<?#|display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|<[a-z]{1,20} [^<>]{0,200}(?:opacity ?: ?0(?![.\d])|color ?[:=] ?["']?(?:white|transparent|#fff))|<(?:script|style|template|noscript)\b|<[a-z]{1,20}(?: [^<>]{0,200})? hidden\b/i

/** Markup that hides its text when displayed. */
export function findHidingMarkup(text: string): string | undefined {
  const at = text.search(HIDING_MARKUP)
  return at === -1 ? undefined : text.slice(at)
}

const BASE64 = /[A-Za-z0-9+/_-]{14,}/g
const HEX = /(?:[0-9a-fA-F]{2}[ :]?){16,}/g
const BITS = /(?:[01]{8}[ ,]?){8,}/g
const ESCAPES = /(?:%[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[0-7]{3}|&#x?[0-9a-fA-F]{1,6};?){8,}/g
const SPELLED = /(?<![A-Za-z])(?:[A-Za-z][ ._*|-]{1,2}){10,}[A-Za-z](?![A-Za-z])/
const ESCAPE = /%([0-9a-f]{2})|\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|\\([0-7]{3})/gi
/** Base64 that is split into groups by spaces. */
const GROUPED = /(?:[A-Za-z0-9+/_-]{4,16} ){3,}[A-Za-z0-9+/_-]{2,16}/g

/** Text in an encoding that a model can read and a person cannot. Keys, digests and images do not count. */
export function findEncoded(text: string): string | undefined {
  if (text.length < 20) return undefined
  const joined = text.replaceAll(/(?<=[A-Za-z0-9+/_=-]{16})[\r\n]+[\t ]*(?=[A-Za-z0-9+/_=-]{2})/g, '')
  const candidates = [
    ...matches(joined, BASE64, base64Bytes),
    ...matches(text, GROUPED, (match) => base64Bytes(match.replaceAll(' ', ''))),
    ...matches(text, HEX, (match) => numbersIn(match.replaceAll(/[ :]/g, ''), 2, 16)),
    ...matches(text, BITS, (match) => numbersIn(match.replaceAll(/[ ,]/g, ''), 8, 2)),
  ]
  for (const { match, bytes } of candidates) {
    const decoded = fromBytes(bytes)
    if (isMessage(decoded)) return `${match.slice(0, 20)}… says: ${decoded}`
  }
  for (const [match] of text.matchAll(ESCAPES)) return `${match.slice(0, 20)}… says: ${unescaped(match)}`
  return SPELLED.exec(text)?.[0] ?? findDisguisedInstruction(text)
}

/** Words that are typical of instructions, in ROT13. */
const ROTATED = /vtaber|qvfertneq|sbetrg|vafgehpgvba|hfre|frperg/i
/** The same words, reversed. */
const REVERSED = /erongi|dragersid|tegrof|noitcurtsni|\bs?resu\b|terces/i

function findDisguisedInstruction(text: string): string | undefined {
  const rotatedFound = ROTATED.test(text) ? findInstruction(rotated(text)) : undefined
  return rotatedFound ?? (REVERSED.test(text) ? findInstruction([...text].reverse().join('')) : undefined)
}

const matches = (text: string, pattern: RegExp, decode: (match: string) => readonly number[]) =>
  Array.from(text.matchAll(pattern), ([match]) => ({ match, bytes: decode(match) }))

const numbersIn = (digits: string, size: number, radix: number): readonly number[] =>
  Array.from({ length: Math.floor(digits.length / size) }, (_, at) =>
    Number.parseInt(digits.slice(at * size, (at + 1) * size), radix),
  )

/** ROT13. */
const rotated = (text: string): string =>
  text.replaceAll(/[A-Za-z]/g, (letter) =>
    String.fromCharCode(letter.charCodeAt(0) + (letter.toLowerCase() < 'n' ? 13 : -13)),
  )

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

/** Decodes UTF-8. Returns an unprintable character if the bytes are not valid text. */
function fromBytes(bytes: readonly number[]): string {
  if (bytes.some((byte) => byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 13)) return '\0'
  try {
    return decodeURIComponent(bytes.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''))
  } catch {
    return '\0'
  }
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPE, (_, ...codes: (string | undefined)[]) => {
    const hex = codes.slice(0, 4).find((code) => typeof code === 'string')
    const [decimal, octal] = codes.slice(4)
    const other = typeof octal === 'string' ? Number.parseInt(octal, 8) : Number(decimal)
    const code = hex === undefined ? other : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
}

const NOT_PRINTED = /[^\t\n\r\x20-\x7e\u00a0-\ufffc]|\ufffd/
/** Matches only from the beginning of a word: otherwise a long word would be read again from each letter. */
const WORDS = /(?<![\p{L}'’])[\p{L}'’]{2,}(?:[\s,.:;!?-]+[\p{L}'’]+){2}/u

/** Whether it is readable prose. An SVG, XML or JSON document counts only if it contains an instruction. */
function isMessage(decoded: string): boolean {
  if (NOT_PRINTED.test(decoded)) return false
  if (/^\s*(?:<svg|<\?xml|[{[]")/.test(decoded)) return findInstruction(decoded) !== undefined
  return WORDS.test(decoded)
}

/** Markup that a page or a chat loads automatically when it is displayed. */
const AUTO_LOADED = new RegExp(
  [
    String.raw`!\[[^\]\n]{0,200}\](?:\(\s{0,3}<?(?:https?:)?\/\/[^\s)]{1,200}|\[[^\]\n]{0,100}\])`,
    String.raw`<(?:img|image|iframe|frame|embed|object|video|audio|source|track|link|script|input|base)\b[^>]{0,200}\b(?:src|srcset|href|data|poster)\s{0,3}=[^>]{1,200}`,
    String.raw`\burl\(\s{0,3}["']?(?:https?:)?\/\/[^\s)]{1,200}`,
  ].join('|'),
  'i',
)
const DATA_WORD =
  '(?:data|secrets?|conversations?|chat|history|prompts?|tokens?|keys?|passwords?|credentials?|env|files?|contents?|messages?|base64|encoded|payload|output|response|results?|context|memory)'
const LEAKING_URL = new RegExp(
  String.raw`https?:\/\/[^\s"'<>]{1,200}[?&/=](?:\{|<|\$\{?|\[|%7b|%3c)[^"'>}\]\n]{0,40}\b${DATA_WORD}|https?:\/\/[^\s"'<>]{1,200}[?&/=](?:\{|<|\$\{?|\[|%7b|%3c)[^\s"'>}\]]{0,30}${DATA_WORD}`,
  'i',
)
const LEAKING_VALUE =
  /https?:\/\/[^\s"'<>]{1,200}[?&][\w.-]{1,40}=(?:[A-Z]{1,20}_){0,3}(?:CONVERSATION|CHAT|HISTORY|PROMPT|SECRETS?|CONTENTS?|MESSAGES?|CONTEXT|MEMORY)\b/
/** A URL to which the model shall append something. */
const OPEN_URL =
  /\b(?:append|add|attach|join|concatenate|put|write|insert|encode)\b[^.\n]{0,100}https?:\/\/[^\s"'<>]{1,200}=(?=[\s"'\x60)>.,]|$)/i

/** A URL that would leak data as soon as it is rendered or opened. */
export function findExfiltration(text: string): string | undefined {
  if (!text.includes('//')) return undefined
  return [AUTO_LOADED, LEAKING_URL, LEAKING_VALUE, OPEN_URL].map((pattern) => pattern.exec(text)?.[0]).find(Boolean)
}

const CONTENT_WORDS = new Set([
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
  ['netrc'],
  ['npmrc'],
  ['pgpass'],
  ['gnupg'],
  ['git', 'credentials'],
  ['authorized', 'keys'],
  ['env', 'vars'],
  ['api', 'keys'],
  ['keychain'],
  ['wallet'],
  ['seed', 'phrase'],
  ['private', 'key'],
  ['browser', 'cookies'],
  ['environment', 'variables'],
]
const KEY_FILES = [
  ['id', 'rsa'],
  ['id', 'ed', '25519'],
  ['id', 'ed25519'],
  ['etc', 'passwd'],
  ['etc', 'shadow'],
  ['bash', 'history'],
  ['zsh', 'history'],
  ['shell', 'history'],
]
const WHOLE = new Set(['entire', 'full', 'whole', 'complete', 'all', 'your', 'current', 'previous', 'raw', 'original'])
const CONVERSATION_WORDS = [
  ...[['system', 'prompt'], ['conversation'], ['chat'], ['transcript'], ['messages'], ['instructions']],
  ...[
    ['tool', 'results'],
    ['tool', 'outputs'],
    ['tool', 'calls'],
  ],
]
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

/** Whether a parameter name asks the model for private data: keys on the disk, or the conversation. */
export function asksForPrivateData(name: string): boolean {
  if (name.length < 4) return false
  const tokens = tokenizeName(normalizeLookalikes(name))
  const has = (words: readonly string[]): boolean =>
    tokens.some((_, at) => words.every((word, offset) => tokens[at + offset] === word))
  if (KEY_FILES.some(has) || MODEL_ONLY.some(has)) return true
  if (tokens.some((token) => CONTENT_WORDS.has(token)) && PRIVATE_FILES.some(has)) return true
  return tokens.some((token) => WHOLE.has(token)) && CONVERSATION_WORDS.some(has)
}
