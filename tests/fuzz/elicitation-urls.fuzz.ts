import fc from 'fast-check'
import { pageUrlProblem } from '../../packages/gateway/src/pipeline/page-url.ts'
import type { FuzzSuite } from './fuzz-suite.ts'

const SCHEMES = [
  'https',
  'http',
  'HTTPS',
  'javascript',
  'data',
  'file',
  'vscode',
  'blob',
  'view-source',
  'ws',
  'ftp',
  'intent',
]
const HOSTS = [
  'example.com',
  'evil.example',
  'localhost',
  '127.0.0.1',
  '[::1]',
  '0x7f.1',
  '2130706433',
  'xn--pple-43d.com',
]
const piece = fc.constantFrom(
  ...SCHEMES,
  ...[':', '/', '//', '\\', '@', '?', '#', '.', '%', ';', ',', '&', '=', '[', ']', '-', '_', '~', '0', '127', '1', 'a'],
  ...HOSTS,
  ...[
    '%00',
    '%0a',
    '%2f',
    '%5c',
    '%40',
    '%61',
    '%E2%80%AE',
    '%ff',
    '%C2%80',
    '%C2%9B',
    ' ',
    '\t',
    '\n',
    '\r',
    '\u0000',
    '\u007f',
  ],
  ...[
    '\u202e',
    '\u2066',
    '\u200f',
    '\u061c',
    '\u2028',
    'ｅ',
    'а',
    'ß',
    '。',
    '．',
    '／',
    '＠',
    '\ufeff',
    '\u00ad',
    '\ud800',
  ],
)
/** Pieces in any order, any scheme before any host, and addresses that begin well. */
const url = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...SCHEMES),
      fc.constantFrom(':', ':/', '://'),
      fc.constantFrom(...HOSTS),
      fc.array(piece, { maxLength: 2 }),
    )
    .map(([scheme, mark, host, rest]) => `${scheme}${mark}${host}${rest.join('')}`),
  fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 5 }).map((pieces) => `https://${pieces.join('')}`),
  fc.array(piece, { maxLength: 5 }).map((pieces) => `http://${pieces.join('')}`),
  fc.array(piece, { maxLength: 4 }).map((pieces) => `https://example.com/${pieces.join('')}`),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
)

/** What every address that passes must be, by Node's parser of the WHATWG's URL standard, and by what a screen shows. */
function oracle(text: string): string | undefined {
  const parsed = new URL(text)
  const { protocol, username, password, hostname } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return `the scheme is ${protocol}`
  if (username !== '' || password !== '') return 'it has a user'
  if (protocol === 'http:' && !['localhost', '[::1]'].includes(hostname) && !/^127\.\d+\.\d+\.\d+$/.test(hostname))
    return `http to ${hostname}`
  // What a person reads as the host is the host: read by hand, as somebody would who knows no standard.
  const read = text
    .slice(text.indexOf('://') + 3)
    .split(/[/?#]/)[0]
    ?.replace(/:\d+$/, '')
  if (read?.toLowerCase() !== hostname) return `the host reads as ${read} and is ${hostname}`
  const bidi = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u
  if (bidi.test(text) || bidi.test(unescaped(text))) return 'it has characters that change what is shown'
  return undefined
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export const suite: FuzzSuite = {
  open: () => ({
    properties: {
      'A page that passes is what it looks like, to a reader and to a browser': fc.property(url, (text) => {
        if (pageUrlProblem(text) !== undefined) return
        const wrong = oracle(text)
        if (wrong !== undefined) throw new Error(`${JSON.stringify(text)} passes, though ${wrong}.`)
      }),
      'An ordinary https address passes': fc.property(
        fc.webUrl({ validSchemes: ['https'], withQueryParameters: true }),
        (text) => {
          const problem = pageUrlProblem(text)
          if (problem === undefined || /[^\x21-\x7e]|%[01]|%7f|%C2%[89]|%E2%80|%E2%81|%D8%9C/i.test(text)) return
          // The standard takes a last part that is a number for an address.
          if (
            new URL(text).hostname !==
            text
              .slice(8)
              .split(/[/?#:]/)[0]
              ?.toLowerCase()
          )
            return
          throw new Error(`${text} is refused: ${problem}.`)
        },
      ),
    },
    close: () => {},
  }),
}
