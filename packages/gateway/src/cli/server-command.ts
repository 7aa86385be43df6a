import { maskSecrets, quoteForShell } from '@sallyport/core'
import { imageOf, type ServerConfig } from '../config/config.ts'

/**
 * What an entry would start or reach, as a shell command or URL; without the values of its variables and headers.
 *
 * Only values from variables are masked. People read this before they trust a foreign home: if values of `env` were
 * masked too, such a home could hide a command by repeating it there.
 */
export function formatServerCommand(config: ServerConfig): string {
  const mask = (text: string): string => maskSecrets(text, config.fromVariables)
  if (!('command' in config)) return mask(stripUrlSecrets(config.url))
  const image = imageOf(config)
  const program = image === undefined ? [config.command] : ['image', image, ...(config.command ? [config.command] : [])]
  return [...program, ...config.args].map((word) => quoteForShell(mask(word))).join(' ')
}

/** A URL's query and user part may contain keys. */
function stripUrlSecrets(text: string): string {
  if (!URL.canParse(text)) return '(not a URL)'
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}
