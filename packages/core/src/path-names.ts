/**
 * What a name tells of its value: `sure` holds a path and nothing else, `likely` holds a path if it is a text, `maybe`
 * holds one if it looks like one.
 */
export type PathHint = 'sure' | 'likely' | 'maybe' | 'none'

const SURE = words(
  'path paths pathname filepath file files filename filenames dir dirs directory directories dirname folder folders cwd pwd workdir',
)
/** Also a language, a branch or a market may be a source, so these count at the end of a name only. */
const LIKELY = words('source sources destination destinations src dst dest root roots target targets')
const MAYBE = words(
  'from to input inputs output outputs location locations uri uris url urls href base home origin attachment attachments document documents image images script config workspace repo repository project',
)
/** `outfile`, `subdir`, `sourcepath`, written as one word. */
const ENDING = /(?:path|file|filename|dir|directory|folder)s?$/
const NOT_PATH_WORDS = words('profile profiles xpath xpaths jsonpath jsonpaths')
/** Behind a word for a file, these speak of something about it. */
const METADATA_WORDS = words(
  'content contents text data body bytes size count limit max min type types mode encoding charset id ids format ext extension extensions hash digest checksum permission permissions number depth length offset line lines status kind description system version time date created modified separator delimiter',
)

const MAX_NAME_LENGTH = 128
const MAX_PATH_LENGTH = 4096

/** How likely an argument of this name holds a path. */
export function guessPathHint(name: string): PathHint {
  const tokens = splitName(name)
  const at = tokens.findLastIndex((token) => SURE.has(token) || (ENDING.test(token) && !NOT_PATH_WORDS.has(token)))
  if (at >= 0 && !tokens.slice(at + 1).some((token) => METADATA_WORDS.has(token)))
    return tokens.every((token) => SURE.has(token)) ? 'sure' : 'likely'
  const last = tokens.at(-1) ?? ''
  if (LIKELY.has(last)) return 'likely'
  return MAYBE.has(last) ? 'maybe' : 'none'
}

/** Whether a value would be taken for a path by a reader who knows nothing of its name. */
export function looksLikePath(value: string): boolean {
  const text = value.trim()
  if (text.length > MAX_PATH_LENGTH) return false
  return /^[/~.\\$]/.test(text) || (/[\\/]/.test(text) && !/\s/.test(text))
}

const splitName = (name: string): readonly string[] =>
  name
    .slice(-MAX_NAME_LENGTH)
    .normalize('NFKC')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((token) => token !== '')

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}
