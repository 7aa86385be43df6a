import { isLoopback, SallyportError } from '@sallyport/core'
import { type Frame, findUrlElicitations, parseFrame } from '../upstream/upstream.ts'

/** Longer ones are cut by clients and servers, each at another place. */
const MAX_LENGTH = 2_048
/** What a URL is written in: no space, nothing that a screen does not show, no letter that looks like another. */
const URL_CHARACTERS = /^[\x21-\x7e]*$/
/** What stands between the scheme and the path, with nothing that readers of URLs disagree about. */
const PARTS = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?(?:[/?#]|$)/i
/** Characters that change how the rest is shown, or end a line, also where they are encoded. */
const DECEPTIVE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u

/** Why a person must not be sent to this page by a server; undefined where nothing speaks against it. */
export function pageUrlProblem(url: unknown): string | undefined {
  if (typeof url !== 'string' || url === '') return 'its URL is missing'
  if (url.length > MAX_LENGTH) return `its URL is longer than ${MAX_LENGTH} characters`
  if (!URL_CHARACTERS.test(url)) return 'its URL has spaces, control characters or letters other than ASCII'
  const { scheme, host } = PARTS.exec(url)?.groups ?? {}
  if (scheme === undefined || host === undefined || url.includes('\\'))
    return 'its URL is not of the form https://host/path'
  const isSecure = scheme.toLowerCase() === 'https'
  if (!isSecure && scheme.toLowerCase() !== 'http') return 'its URL does not begin with https://'
  // A host that every reader takes for the same: not one that is a number, an address with zeros left out, or encoded.
  if (!URL.canParse(url) || new URL(url).hostname !== host.toLowerCase()) return 'its URL has an ambiguous host'
  const address = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (!isSecure && !isLoopback(address)) return 'its URL is not encrypted: http:// is for this machine alone'
  return DECEPTIVE.test(decoded(url)) ? 'its URL has encoded control characters' : undefined
}

/** What is no UTF-8 is shown as it is. */
function decoded(url: string): string {
  return url.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'))
}

/** The address itself is told to nobody: whoever reads it may follow it. */
export const pageRefusal = (problem: string): SallyportError =>
  new SallyportError('PAGE_REFUSED', `The server wants a page to be opened that nobody is sent to: ${problem}.`)

/** Why an error of a server must not reach its client: it names pages that have to be visited first. */
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
