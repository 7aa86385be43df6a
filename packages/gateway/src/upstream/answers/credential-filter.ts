import { SallyportError } from '@sallyport/core'
import type { Transport, TransportEvents } from '../transport.ts'
import { type Redaction, redactFrame } from './redact-frame.ts'

export const REDACTED = '[redacted: credential of the server]'

/** Members of the protocol that contain base64 bytes. */
const BASE64_MEMBERS: ReadonlySet<string> = new Set(['blob', 'data'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const REDACTED_BASE64 = Buffer.from(REDACTED).toString('base64')

/** A longer value is searched for in pieces. */
const MAX_PIECE = 512
/** Shorter values occur in ordinary words. */
const MIN_PIECE = 8
const MAX_ANCHOR = 8
const MIN_ANCHOR = 4
/**
 * A short message is searched with one pattern for all credentials, a longer one anchor by anchor: each anchor costs a
 * call, and almost nothing per byte.
 */
const SHORT_BYTES = 512
/** This many bytes before a piece are searched again together with it. */
const CHUNK_OVERLAP = 64
/**
 * A long text is searched in windows. Each overlaps the previous one by the length of a completely escaped credential.
 */
const WINDOW_LENGTH = 262_144
const WINDOW_OVERLAP = 16_384

/** Characters that no encoder has a reason to escape. */
const UNESCAPED_RUN = /[A-Za-z0-9_.-]+/g
/** An escape of such a character, in JSON or a URL: text with one of these is decoded and searched closely. */
const ESCAPES = /(?:\\u00|%(?:25){0,3})(?:2[de]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])|&(?:amp;)*#/i

/** The characters that each of these escapes contains. */
const ESCAPE_HINTS: readonly string[] = ['\\u00', '%', '&']

/**
 * Removes from the messages of a server the credentials that the configuration gives to it: as they are, escaped for
 * JSON, a URL or HTML, in base64 (once or twice), and in hex. Most messages contain none and pass as bytes after one
 * scan.
 */
export class CredentialFilter implements Redaction {
  readonly #anchors: readonly string[]
  readonly #anchorBytes: readonly Buffer[]
  readonly #anyAnchor: RegExp
  /** In the form that `decodeText` and `normalizeBase64` return. */
  readonly #plain: readonly string[]
  readonly #encoded: readonly string[]
  /** How tokens begin that are made while the server runs, in all these forms. */
  readonly #beginnings: ReadonlySet<string>

  constructor(credentials: readonly string[], tokenPrefix?: string) {
    const beginnings = tokenPrefix === undefined ? [] : [tokenPrefix]
    const pieces = [...new Set([...credentials.flatMap(splitCredential), ...beginnings])]
    const encoded = pieces.flatMap(encodeFully)
    this.#anchors = [...new Set([...pieces.map(findAnchor), ...encoded.map(findAnchor)])]
    this.#anchorBytes = this.#anchors.map((anchor) => Buffer.from(anchor))
    this.#anyAnchor = new RegExp([...this.#anchors.map(escapeRegExp), ...ESCAPE_HINTS.map(escapeRegExp)].join('|'))
    this.#plain = pieces.map((piece) => spellOutControls(decodeText(piece)).text)
    this.#encoded = encoded.map(toPackedForm)
    this.#beginnings = new Set([...beginnings, ...beginnings.flatMap(encodeFully).map(toPackedForm)])
  }

  /** A text that may be shown, such as a line of stderr. */
  redact(text: string): string {
    const found: Span[] = []
    for (let from = 0; from === 0 || from + WINDOW_OVERLAP < text.length; from += WINDOW_LENGTH - WINDOW_OVERLAP) {
      const window = text.slice(from, from + WINDOW_LENGTH)
      if (this.#windowMayHold(window)) for (const span of this.#find(window)) found.push(shift(span, from))
    }
    return found.length === 0 ? text : redactSpans(text, found)
  }

  #windowMayHold(text: string): boolean {
    return this.#anchors.some((anchor) => text.includes(anchor)) || ESCAPES.test(text)
  }

  #find(text: string): readonly Span[] {
    const decoded = decodeText(text)
    const named = spellOutControls(decoded)
    const plain = this.#plain.flatMap((form) => findSpans(form, named, this.#restOf(form, TOKEN_REST)))
    const packed = normalizeBase64(decoded)
    const encoded = this.#encoded.flatMap((form) => {
      const rest = this.#restOf(form, ENCODED_REST)
      const spans = findSpans(form, packed, rest)
      return rest === undefined ? spans : spans.map((span) => cutAtSpace(span, text))
    })
    return [...plain, ...encoded.map((span) => widen(span, text))]
  }

  /** A token of which only the beginning is known ends where its characters end. */
  #restOf(form: string, rest: RegExp): RegExp | undefined {
    return this.#beginnings.has(form) ? rest : undefined
  }

  readonly show = (name: string, text: string): string => {
    const shown = this.redact(text)
    // With a placeholder in it, a client would reject the whole result.
    return shown !== text && BASE64_MEMBERS.has(name) && BASE64.test(text) ? REDACTED_BASE64 : shown
  }

  readonly mayHold = (parts: readonly Uint8Array[]): boolean =>
    parts.length === 1 ? this.#mayHold(parts[0] as Uint8Array) : parts.some(this.createSearch())

  readonly createSearch = (): ((part: Uint8Array) => boolean) => {
    let seam: Uint8Array = new Uint8Array()
    return (part) => {
      if (this.#mayHold(part) || this.#mayHold(Buffer.concat([seam, part.subarray(0, CHUNK_OVERLAP)]))) return true
      seam = Buffer.concat([seam, part.subarray(-CHUNK_OVERLAP)]).subarray(-CHUNK_OVERLAP)
      return false
    }
  }

  redactError(error: SallyportError): SallyportError {
    const { code, message, hint, cause } = error
    const shown = { message: this.redact(message), hint: hint && this.redact(hint) }
    if (shown.message === message && shown.hint === hint) return error
    return new SallyportError(code, shown.message, { ...(shown.hint && { hint: shown.hint }), cause })
  }

  #mayHold(bytes: Uint8Array): boolean {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    if (buffer.length <= SHORT_BYTES) {
      const text = buffer.toString('latin1')
      const found = this.#anyAnchor.exec(text)?.[0]
      return found !== undefined && (!isEscape(found) || this.#holdsAnchor(buffer) || ESCAPES.test(text))
    }
    if (this.#holdsAnchor(buffer)) return true
    const mayEscape = ESCAPE_HINTS.some((hint) => buffer.includes(hint))
    return mayEscape && ESCAPES.test(buffer.toString('latin1'))
  }

  #holdsAnchor(buffer: Buffer): boolean {
    for (const anchor of this.#anchorBytes) if (buffer.includes(anchor)) return true
    return false
  }
}

const isEscape = (found: string): boolean => ESCAPE_HINTS.includes(found)

/** `undefined` for a server that gets no credentials. `tokenPrefix`: it gets tokens that begin so. */
export function createCredentialFilter(
  credentials: readonly string[],
  tokenPrefix?: string,
): CredentialFilter | undefined {
  const isNeeded = tokenPrefix !== undefined || credentials.some((value) => splitCredential(value).length > 0)
  return isNeeded ? new CredentialFilter(credentials, tokenPrefix) : undefined
}

/** The same transport; its messages contain no credential of its server. */
export function hideCredentials<Own extends Transport>(transport: Own, filter: CredentialFilter | undefined): Own {
  if (filter === undefined) return transport
  const open = transport.open.bind(transport)
  return Object.assign(transport, { open: (events: TransportEvents) => open(filterEvents(events, filter)) })
}

function filterEvents(events: TransportEvents, filter: CredentialFilter): TransportEvents {
  /** Large messages are filtered in several turns of the event loop; the end of the connection waits for them. */
  const pending = new Set<Promise<void>>()
  /** What comes after a notification or request waits for it: the answer of its call must not overtake it. */
  let last: Promise<void> | undefined
  return {
    onFrame: (frame, during) => {
      const shown = redactFrame(frame, filter)
      if (!(shown instanceof Promise || last)) return events.onFrame(shown, during)
      const passed = Promise.all([shown, last])
        .then(([later]) => events.onFrame(later, during))
        .finally(() => {
          pending.delete(passed)
          if (last === passed) last = undefined
        })
      pending.add(passed)
      // Large answers need no order among themselves.
      if (last || frame.envelope.hasMethod) last = passed
    },
    onFailure: (id, error) => events.onFailure(id, filter.redactError(error)),
    onSessionExpired: (id) => events.onSessionExpired?.(id),
    onTooWide: () => events.onTooWide?.(),
    onWarning: (text) => events.onWarning(filter.redact(text)),
    onClose: (reason) => {
      const close = (): void => events.onClose(filter.redact(reason))
      if (pending.size === 0) close()
      else void Promise.allSettled(pending).then(close)
    },
  }
}

/** The value itself and each of its lines: a log contains only lines. */
function splitCredential(value: string): readonly string[] {
  const whole = value.trim()
  const lines = whole.split(/[\r\n]+/).map((line) => line.trim())
  const pieces = whole.length <= MAX_PIECE ? [whole, ...lines] : lines.flatMap(cutPieces)
  return pieces.filter((piece) => piece.length >= MIN_PIECE)
}

const cutPieces = (text: string): readonly string[] => text.match(new RegExp(`.{1,${MAX_PIECE}}`, 'gsu')) ?? []

/**
 * The value in base64 and in hex. In base64 the same bytes look different at different offsets, so there are three
 * forms, without the ends that depend on neighbouring bytes.
 */
function encodePiece(piece: string): readonly string[] {
  const hex = Buffer.from(piece).toString('hex')
  return [...encodeBase64(piece), hex, hex.toUpperCase()]
}

/** The same, and what was encoded twice. */
const encodeFully = (piece: string): readonly string[] => [
  ...encodePiece(piece),
  ...encodeBase64(piece).flatMap(encodeBase64),
]

const toPackedForm = (text: string): string => normalizeBase64(decodeText(text)).text

function encodeBase64(piece: string): readonly string[] {
  const bytes = Buffer.from(piece)
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
  })
}

/**
 * The longest run of characters that stay the same in JSON and in a URL. Without such a run, the beginning of the
 * value.
 */
function findAnchor(text: string): string {
  const runs = text.match(UNESCAPED_RUN) ?? []
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '')
  if (longest.length >= MIN_ANCHOR) return longest.slice(0, MAX_ANCHOR)
  return /[^"\\/<>&'\s]{2,4}/.exec(text)?.[0] ?? text.slice(0, 1)
}

const escapeRegExp = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

interface Span {
  readonly start: number
  readonly end: number
}

/** At both ends, base64 digits mix a few bits of the credential with bits of its neighbours. */
const widen = ({ start, end }: Span, text: string): Span => ({
  start: BASE64_DIGIT.test(text.charAt(start - 1)) ? start - 1 : start,
  end: BASE64_DIGIT.test(text.charAt(end)) ? end + 1 : end,
})

const BASE64_DIGIT = /[\w+/-]/

const shift = ({ start, end }: Span, by: number): Span => ({ start: start + by, end: end + by })

function redactSpans(text: string, found: readonly Span[]): string {
  let shown = ''
  let at = 0
  for (const { start, end } of [...found].sort((a, b) => a.start - b.start)) {
    // Overlapping ones are merged: the text between their ends belongs to one of them.
    if (start >= at) shown += text.slice(at, start) + REDACTED
    at = Math.max(at, end)
  }
  return shown + text.slice(at)
}

/** The characters of a token, and those of one that is encoded. */
const TOKEN_REST = /[\w.-]*/y
const ENCODED_REST = /[\w.+/=]*/y

/** `rest`: what belongs to it behind the given form. */
function findSpans(form: string, { text, sourceOffsets }: DecodedText, rest?: RegExp): readonly Span[] {
  const spans: Span[] = []
  for (let at = text.indexOf(form), end = 0; at >= 0; at = text.indexOf(form, end)) {
    end = at + form.length + countRest(text, at + form.length, rest)
    spans.push({ start: sourceOffsets[at] as number, end: sourceOffsets[end] as number })
  }
  return spans
}

function countRest(text: string, from: number, rest: RegExp | undefined): number {
  if (rest === undefined) return 0
  rest.lastIndex = from
  return rest.exec(text)?.[0].length ?? 0
}

/** A space is decoded to a plus, which is also a digit of base64. */
function cutAtSpace({ start, end }: Span, text: string): Span {
  const space = text.indexOf(' ', start)
  return { start, end: space < 0 ? end : Math.min(space, end) }
}

/** A normalized text, and the original position of each of its characters. */
interface DecodedText {
  readonly text: string
  /** One more than there are characters: the last is the end. */
  readonly sourceOffsets: Uint32Array
}

const BACKSLASH = 0x5c
const PERCENT = 0x25
const AMPERSAND = 0x26
const LINE_FEED = 0x0a
const ESCAPED_CONTROLS: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09, b: 0x08, f: 0x0c }
/** The entities that pages use for characters with a meaning in HTML, and `&amp;` for what was escaped before. */
const ENTITY = /&(?:amp;)*(?:#(\d{1,5});|#x([0-9a-f]{1,4});|(lt|gt|quot|apos|amp);)/iy
const NAMED_ENTITIES: Readonly<Record<string, number>> = { lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27, amp: AMPERSAND }
const HEX4 = /^[0-9a-f]{4}$/i
const HEX2 = /^[0-9a-f]{2}$/i

/**
 * The bytes that a text stands for, each as one character, however it was escaped: JSON, JSON within JSON, a URL, a
 * form, a page. Backslashes are removed. Two escaped forms of the same text give the same result. Takes linear time.
 */
function decodeText(text: string): DecodedText {
  const out = new DecodedOutput(text.length)
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at = decodeEscape(text, at, out)
    else if (code === PERCENT) at = decodePercent(text, at, out)
    else if (code === AMPERSAND) at = decodeEntity(text, at, out)
    else at = out.pushCharacter(text, at, at)
  }
  return out.finish(text.length)
}

/** Any number of backslashes and the character that they escape: nested JSON has more of them. */
function decodeEscape(text: string, start: number, out: DecodedOutput): number {
  let at = start
  while (text.charCodeAt(at) === BACKSLASH) at++
  const digits = text.slice(at + 1, at + 5)
  if (text[at] === 'u' && HEX4.test(digits)) return out.pushCodeUnit(Number.parseInt(digits, 16), start, at + 5)
  const control = ESCAPED_CONTROLS[text[at] ?? '']
  if (control !== undefined) return out.pushByte(control, start, at + 1)
  return at < text.length ? out.pushCharacter(text, at, start) : at
}

/** `%41`, and `%2541`, which is the same encoded once more. */
function decodePercent(text: string, start: number, out: DecodedOutput): number {
  let at = start + 1
  while (text.startsWith('25', at) && HEX2.test(text.slice(at + 2, at + 4))) at += 2
  const digits = text.slice(at, at + 2)
  return HEX2.test(digits)
    ? out.pushByte(Number.parseInt(digits, 16), start, at + 2)
    : out.pushByte(PERCENT, start, start + 1)
}

function decodeEntity(text: string, start: number, out: DecodedOutput): number {
  ENTITY.lastIndex = start
  const [whole, decimal, hex, name = ''] = ENTITY.exec(text) ?? []
  if (whole === undefined) return out.pushByte(AMPERSAND, start, start + 1)
  const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : NAMED_ENTITIES[name.toLowerCase()]
  return out.pushCodeUnit(code ?? AMPERSAND, start, start + whole.length)
}

/** With the letter that escapes each control character: after an encoded backslash it is unknown what it escapes. */
const spellOutControls = ({ text, sourceOffsets }: DecodedText): DecodedText => ({
  text: text.replaceAll(/[\n\r\t\b\f]/g, (control) => CONTROL_LETTERS[control] as string),
  sourceOffsets,
})

const CONTROL_LETTERS: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }

/** For base64: without line breaks, and in one alphabet. */
function normalizeBase64({ text, sourceOffsets }: DecodedText): DecodedText {
  const out = new DecodedOutput(text.length)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === LINE_FEED || code === 0x0d) continue
    out.pushByte(code === 0x2d ? 0x2b : code === 0x5f ? 0x2f : code, sourceOffsets[at] as number, 0)
  }
  return out.finish(sourceOffsets[text.length] as number)
}

class DecodedOutput {
  readonly #bytes: Buffer
  readonly #from: Uint32Array
  #length = 0

  constructor(characters: number) {
    this.#bytes = Buffer.allocUnsafe(characters * 3)
    this.#from = new Uint32Array(characters * 3 + 1)
  }

  /** Returns the position to continue from. */
  pushByte(code: number, start: number, next: number): number {
    if (code === BACKSLASH) return next
    // A form writes a space as a plus.
    this.#bytes[this.#length] = code === 0x20 ? 0x2b : code
    this.#from[this.#length] = start
    this.#length++
    return next
  }

  pushCharacter(text: string, at: number, start: number): number {
    return this.pushCodeUnit(text.charCodeAt(at), start, at + 1)
  }

  /** Each half of a surrogate pair is separate: the two halves may be escaped one by one. */
  pushCodeUnit(code: number, start: number, next: number): number {
    if (code < 0x80) return this.pushByte(code, start, next)
    if (code < 0x800) this.pushByte(0xc0 | (code >> 6), start, next)
    else {
      this.pushByte(0xe0 | (code >> 12), start, next)
      this.pushByte(0x80 | ((code >> 6) & 0x3f), start, next)
    }
    return this.pushByte(0x80 | (code & 0x3f), start, next)
  }

  finish(at: number): DecodedText {
    this.#from[this.#length] = at
    return {
      text: this.#bytes.toString('latin1', 0, this.#length),
      sourceOffsets: this.#from.slice(0, this.#length + 1),
    }
  }
}
