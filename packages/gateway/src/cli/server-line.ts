import type { ServerConfig } from '../config/config.ts'

/** What an entry would start or reach, as a person would type it; without the values of its variables and headers. */
export function serverLine(config: ServerConfig): string {
  if (config.kind !== 'stdio') return bareUrl(config.url)
  return [config.command, ...config.args].map(quoted).join(' ')
}

/** A URL's query and user part may carry keys. */
function bareUrl(text: string): string {
  if (!URL.canParse(text)) return '(not a URL)'
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

/** As a shell would need it, so that where one argument ends is never in doubt. */
const quoted = (word: string): string => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
