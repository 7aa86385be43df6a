import { isLoopback, SallyportError } from '@sallyport/core'
import { type Frame, findUrlElicitations, parseFrame } from '../upstream/upstream.ts'

/** Clients and servers cut longer URLs, each at a different position. */
const MAX_LENGTH = 2_048
/** Printable ASCII only: no spaces, no invisible characters, no letters that look like others. */
const URL_CHARACTERS = /^[\x21-\x7e]*$/
/** The part before the path, without anything that URL parsers read differently. */
const PARTS = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?(?:[/?#]|$)/i
/** Characters that change how the rest is shown, or that end a line. They are refused in encoded form too. */
const DECEPTIVE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u

/** Why a server must not send a person to this page; `undefined` if it may. */
export function pageUrlProblem(url: unknown): string | undefined {
  if (typeof url !== 'string' || url === '') return 'its URL is missing'
  if (url.length > MAX_LENGTH) return `its URL is longer than ${MAX_LENGTH} characters`
  if (!URL_CHARACTERS.test(url)) return 'its URL has spaces, control characters or letters other than ASCII'
  const { scheme, host } = PARTS.exec(url)?.groups ?? {}
  if (scheme === undefined || host === undefined || url.includes('\\'))
    return 'its URL is not of the form https://host/path'
  const isSecure = scheme.toLowerCase() === 'https'
  if (!isSecure && scheme.toLowerCase() !== 'http') return 'its URL does not begin with https://'
  // Every parser must read the same host: no numbers, no shortened addresses, no encoded characters.
  if (!URL.canParse(url) || new URL(url).hostname !== host.toLowerCase()) return 'its URL has an ambiguous host'
  const address = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (!isSecure && !isLoopback(address)) return 'its URL is not encrypted: http:// is allowed for this machine only'
  return DECEPTIVE.test(decoded(url)) ? 'its URL has encoded control characters' : undefined
}

/** Invalid UTF-8 becomes replacement characters. */
function decoded(url: string): string {
  return url.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'))
}

/** The message does not contain the URL: whoever reads it might open it. */
export const pageRefusal = (problem: string): SallyportError =>
  new SallyportError('PAGE_REFUSED', `The server asks to open a page that the gateway does not allow: ${problem}.`)

/** Checks the pages that a server's error asks the client to open first. Returns an error if one of them is not allowed. */
export function checkPages(frame: Frame): SallyportError | undefined {
  const pages = findUrlElicitations(parseFrame(frame).error)
  if (pages === undefined) return undefined
  if (pages.length === 0) return pageRefusal('it does not say which')
  for (const { url } of pages) {
    const problem = pageUrlProblem(url)
    if (problem !== undefined) return pageRefusal(problem)
  }
  return undefined
}
