const LESS = 0x3c
const GREATER = 0x3e
const SINGLE = 0x27
const DOUBLE = 0x22

/** A tag, or a text between two. */
export interface MarkupPart {
  readonly isTag: boolean
  readonly start: number
  readonly end: number
}

/** Behind each of these everything up to its end tag is code, not content. */
const CODE = /^<(script|style)\b/i
const CODE_END = { script: /<\/script/gi, style: /<\/style/gi } as const

/** Goes through the tags and texts of HTML or XML. Comments, scripts, styles and white space are passed over. */
export function eachPart(text: string, visit: (part: MarkupPart) => void): void {
  let at = 0
  while (at < text.length) {
    const end = text.charCodeAt(at) === LESS ? tagEnd(text, at) : -1
    if (end < 0) {
      const next = textEnd(text, at)
      visitText(text, { start: at, end: next }, visit)
      at = next
      continue
    }
    const isComment = text.startsWith('<!--', at)
    if (!isComment) visit({ isTag: !text.startsWith('<![CDATA[', at), start: at, end })
    at = isComment ? end : codeEnd(text, at, end)
  }
}

function visitText(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  visit: (part: MarkupPart) => void,
): void {
  const piece = text.slice(start, end)
  const first = start + (piece.length - piece.trimStart().length)
  const last = first + piece.trim().length
  if (last > first) visit({ isTag: false, start: first, end: last })
}

/** At least one character: a "<" that opens nothing is text. */
function textEnd(text: string, from: number): number {
  const next = text.indexOf('<', from + 1)
  return next < 0 ? text.length : next
}

/** -1 where no tag begins here. One that is never closed reaches to the end, so that nothing is looked through twice. */
function tagEnd(text: string, at: number): number {
  if (text.startsWith('<!--', at)) return behind(text, '-->', at + 4)
  if (text.startsWith('<![CDATA[', at)) return behind(text, ']]>', at)
  return /[A-Za-z/!?]/.test(text.charAt(at + 1)) ? plainTagEnd(text, at) : -1
}

function behind(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

function plainTagEnd(text: string, from: number): number {
  let quote = 0
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quote !== 0) quote = code === quote ? 0 : quote
    else if (code === GREATER) return at + 1
    else if (code === SINGLE || code === DOUBLE) quote = code
  }
  return text.length
}

function codeEnd(text: string, start: number, end: number): number {
  const name = CODE.exec(text.slice(start, start + 8))?.[1]?.toLowerCase()
  if ((name !== 'script' && name !== 'style') || text.charAt(end - 2) === '/') return end
  const pattern = CODE_END[name]
  pattern.lastIndex = end
  return pattern.exec(text)?.index ?? text.length
}
