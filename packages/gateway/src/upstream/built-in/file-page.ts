import { isUtf8 } from 'node:buffer'
import { ToolRetryError, textContent, toolResult, type WholeResult, type Workspace } from '@sallyport/kit'

interface Page {
  readonly offset: number
  readonly limit: number
}

/** In UTF-8, in bytes. A page holds one at least, or it would never get on. */
const MAX_CHARACTER_BYTES = 4
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

/** What models can look at, by how its bytes begin in hexadecimal. */
const IMAGES: readonly { readonly mimeType: string; readonly begins: RegExp }[] = [
  { mimeType: 'image/png', begins: /^89504e470d0a1a0a/ },
  { mimeType: 'image/jpeg', begins: /^ffd8ff/ },
  { mimeType: 'image/gif', begins: /^47494638(37|39)61/ },
  { mimeType: 'image/webp', begins: /^52494646.{8}57454250/ },
]

/** A page of a text, an image whole, or an error that says why it is neither. */
export async function readFilePage(workspace: Workspace, path: string, { offset, limit }: Page): Promise<WholeResult> {
  const { bytes, size } = await workspace.readFile(path, { offset, limit: Math.max(limit, MAX_CHARACTER_BYTES) })
  if (offset > size) throw new ToolRetryError(`${path}: the offset ${offset} is beyond its end; it has ${size} bytes.`)
  const begin = offset === 0 ? 0 : countContinuations(bytes)
  const text = takeText(bytes.subarray(begin), offset + bytes.length < size ? MAX_CHARACTER_BYTES - 1 : 0)
  if (text !== undefined) return textPage(text, { offset: offset + begin, size })
  const image = offset === 0 ? await readImage(workspace, path, bytes) : undefined
  if (image !== undefined) return image
  throw new ToolRetryError(`${path}: not text in UTF-8 (${size} bytes). This tool reads texts and images.`)
}

function textPage(text: Buffer, { offset, size }: { readonly offset: number; readonly size: number }): WholeResult {
  const content = [textContent(text.toString('utf8'))]
  const next = offset + text.length
  if (next < size)
    content.push(textContent(`[To byte ${next} of ${size}. There is more: continue with offset ${next}.]`))
  return toolResult({ content })
}

/** The bytes as far as they are text, which a page may end up to `slack` bytes early: inside a character. */
function takeText(bytes: Buffer, slack: number): Buffer | undefined {
  if (bytes.includes(0)) return undefined
  for (let cut = 0; cut <= slack; cut++) {
    const text = bytes.subarray(0, bytes.length - cut)
    if (isUtf8(text)) return text
  }
  return undefined
}

/** How many bytes at the beginning belong to a character that began before them. */
function countContinuations(bytes: Buffer): number {
  const begin = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return begin < MAX_CHARACTER_BYTES ? Math.max(begin, 0) : 0
}

async function readImage(workspace: Workspace, path: string, head: Buffer): Promise<WholeResult | undefined> {
  const beginning = head.subarray(0, 16).toString('hex')
  const image = IMAGES.find(({ begins }) => begins.test(beginning))
  if (image === undefined) return undefined
  const { bytes, size } = await workspace.readFile(path, { limit: MAX_IMAGE_BYTES })
  if (size > MAX_IMAGE_BYTES)
    throw new ToolRetryError(`${path}: an image of ${size} bytes; at most ${MAX_IMAGE_BYTES} can be shown.`)
  return toolResult({ content: [{ type: 'image', data: bytes.toString('base64'), mimeType: image.mimeType }] })
}
