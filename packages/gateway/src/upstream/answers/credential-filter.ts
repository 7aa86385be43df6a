import { SallyportError } from '@sallyport/core'
import type { Frame, Transport, TransportEvents } from '../transport.ts'
import { type Redaction, redactFrame } from './redact-frame.ts'

export const REDACTED = '[redacted: credential of the server]'

/** Members of the protocol that hold bytes. */
const BASE64_MEMBERS: ReadonlySet<string> = new Set(['blob', 'data'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const REDACTED_BASE64 = Buffer.from(REDACTED).toString('base64')

/** A longer value is looked for in pieces. */
const MAX_PIECE = 512
/** What is shorter is found in ordinary words. */
const MIN_PIECE = 8
const MAX_ANCHOR = 8
const MIN_ANCHOR = 4
/** A short message is searched by one pattern for all, a longer one anchor by anchor: each costs a call, and next to nothing for a byte. */
const SHORT_BYTES = 512
/** Of what came before, so much is looked at again with the next piece. */
const CHUNK_OVERLAP = 64
/** A long text is looked at in windows, each with so much of the one before as a credential takes when all of it is escaped. */
const WINDOW_LENGTH = 262_144
const WINDOW_OVERLAP = 16_384

/** Characters that no encoder has a reason to escape. */
const UNESCAPED_RUN = /[A-Za-z0-9_.-]+/g
/** One of these that is escaped all the same, for JSON or a URL: whatever that hides is looked at closely. */
const ESCAPES = /(?:\\u00|%(?:25){0,3})(?:2[de]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])|&(?:amp;)*#/i

/** What each of these has in it. */
const ESCAPE_HINTS: readonly string[] = ['\\u00', '%', '&']

/**
 * Takes the credentials that the configuration gives to a server out of what it says: as they are, escaped for JSON, a
 * URL or a page, in base64, once or twice, and in hex. Most messages hold none, and pass as bytes after one look at them.
 */
export class CredentialFilter implements Redaction {
  readonly #anchors: readonly string[]
  readonly #anchorBytes: readonly Buffer[]
  readonly #anyAnchor: RegExp
  /** As `decodeText` and `normalizeBase64` give them. */
  readonly #plain: readonly string[]
  readonly #encoded: readonly string[]

  constructor(credentials: readonly string[]) {
    const pieces = [...new Set(credentials.flatMap(splitCredential))]
    const encoded = pieces.flatMap((piece) => [...encodePiece(piece), ...encodeBase64(piece).flatMap(encodeBase64)])
    this.#anchors = [...new Set([...pieces.map(findAnchor), ...encoded.map(findAnchor)])]
    this.#anchorBytes = this.#anchors.map((anchor) => Buffer.from(anchor))
    this.#anyAnchor = new RegExp([...this.#anchors.map(escapeRegExp), ...ESCAPE_HINTS.map(escapeRegExp)].join('|'))
    this.#plain = pieces.map((piece) => spellOutControls(decodeText(piece)).text)
    this.#encoded = encoded.map((text) => normalizeBase64(decodeText(text)).text)
  }

  /** A text, such as a line of stderr, as it may be shown. */
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
    const plain = this.#plain.flatMap((form) => findSpans(form, named))
    const packed = normalizeBase64(decoded)
    return [...plain, ...this.#encoded.flatMap((form) => findSpans(form, packed).map((span) => widen(span, text)))]
  }

  readonly show = (name: string, text: string): string => {
    const shown = this.redact(text)
    // With words in it a client would refuse the whole result.
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

/** Undefined for a server that is given none. */
export function createCredentialFilter(credentials: readonly string[]): CredentialFilter | undefined {
  return credentials.some((value) => splitCredential(value).length > 0) ? new CredentialFilter(credentials) : undefined
}

/** The same transport, from which nothing comes that holds a credential of its server. */
export function hideCredentials<Own extends Transport>(transport: Own, filter: CredentialFilter | undefined): Own {
  if (filter === undefined) return transport
  const open = transport.open.bind(transport)
  return Object.assign(transport, { open: (events: TransportEvents) => open(filterEvents(events, filter)) })
}

function filterEvents(events: TransportEvents, filter: CredentialFilter): TransportEvents {
  /** Large messages are filtered in several turns of the event loop; the end of the connection waits for them. */
  const pending = new Set<Promise<void>>()
  return {
    onFrame: (frame, during) => {
      const shown = redactFrame(frame, filter)
      if (!(shown instanceof Promise)) return events.onFrame(shown, during)
      const passed = shown.then((later: Frame) => events.onFrame(later, during)).finally(() => pending.delete(passed))
      pending.add(passed)
    },
    onFailure: (id, error) => events.onFailure(id, filter.redactError(error)),
    onWarning: (text) => events.onWarning(filter.redact(text)),
    onClose: (reason) => {
      const close = (): void => events.onClose(filter.redact(reason))
      if (pending.size === 0) close()
      else void Promise.allSettled(pending).then(close)
    },
  }
}

/** The value itself, and its lines: a log knows lines only. */
function splitCredential(value: string): readonly string[] {
  const whole = value.trim()
  const lines = whole.split(/[\r\n]+/).map((line) => line.trim())
  const pieces = whole.length <= MAX_PIECE ? [whole, ...lines] : lines.flatMap(cutPieces)
  return pieces.filter((piece) => piece.length >= MIN_PIECE)
}

const cutPieces = (text: string): readonly string[] => text.match(new RegExp(`.{1,${MAX_PIECE}}`, 'gsu')) ?? []

/** In base64, where the same bytes read differently by their place, without the ends that neighbours change; and in hex. */
function encodePiece(piece: string): readonly string[] {
  const hex = Buffer.from(piece).toString('hex')
  return [...encodeBase64(piece), hex, hex.toUpperCase()]
}

function encodeBase64(piece: string): readonly string[] {
  const bytes = Buffer.from(piece)
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
  })
}

/** The longest run of characters that stay as they are in JSON and in a URL. Without one, whatever the value begins with. */
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

/** The digits of base64 at both ends hold a few bits of the credential and a few of its neighbours. */
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
    // Those that overlap are one: what stands between their ends would be a part of one of them.
    if (start >= at) shown += text.slice(at, start) + REDACTED
    at = Math.max(at, end)
  }
  return shown + text.slice(at)
}

function findSpans(form: string, { text, sourceOffsets }: DecodedText): readonly Span[] {
  const spans: Span[] = []
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length))
    spans.push({ start: sourceOffsets[at] as number, end: sourceOffsets[at + form.length] as number })
  return spans
}

/** A text in one spelling, and where each of its characters comes from. */
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
/** By which pages escape what has a meaning in HTML, and `&amp;` what was escaped before. */
const ENTITY = /&(?:amp;)*(?:#(\d{1,5});|#x([0-9a-f]{1,4});|(lt|gt|quot|apos|amp);)/iy
const NAMED_ENTITIES: Readonly<Record<string, number>> = { lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27, amp: AMPERSAND }
const HEX4 = /^[0-9a-f]{4}$/i
const HEX2 = /^[0-9a-f]{2}$/i

/**
 * The bytes that a text stands for, each as one character, whatever it was escaped by: JSON, JSON within JSON, a URL, a
 * form, a page. Backslashes are left out. Two texts that are escapes of the same one come out the same. Takes time linear in the text.
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

/** Any number of backslashes, and what they escape: further in, JSON within JSON has more of them. */
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

/** With the letter by which each control character is escaped: of a backslash that was encoded nobody knows what it escapes. */
const spellOutControls = ({ text, sourceOffsets }: DecodedText): DecodedText => ({
  text: text.replaceAll(/[\n\r\t\b\f]/g, (control) => CONTROL_LETTERS[control] as string),
  sourceOffsets,
})

const CONTROL_LETTERS: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }

/** For what is in base64: without the ends of its lines, and in one alphabet. */
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

  /** Returns where to go on. */
  pushByte(code: number, start: number, next: number): number {
    if (code === BACKSLASH) return next
    // A form has a plus in the place of a blank.
    this.#bytes[this.#length] = code === 0x20 ? 0x2b : code
    this.#from[this.#length] = start
    this.#length++
    return next
  }

  pushCharacter(text: string, at: number, start: number): number {
    return this.pushCodeUnit(text.charCodeAt(at), start, at + 1)
  }

  /** A half of a surrogate pair counts by itself: the two halves may be escaped one by one. */
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
