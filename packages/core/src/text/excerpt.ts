import { redactText } from '../secrets/find-secrets.ts'
import { cutText, toVisibleText } from './visible-text.ts'

/** A secret that begins within what is shown is recognised by this much of it. */
const LOOK_AHEAD = 8_000

/** The beginning of a foreign text. Secrets are replaced before it is cut: half of one would not be recognised. */
export const redactAndCut = (text: string, length: number): string =>
  cutText(redactText(text.slice(0, length + LOOK_AHEAD)), length)

/** The beginning of a foreign text as it may stand in a message, with everything that does not show written out. */
export const excerpt = (text: string, length: number): string => toVisibleText(redactAndCut(text, length))

/** The same in quotes. */
export const quoteText = (text: string, length: number): string =>
  toVisibleText(JSON.stringify(redactAndCut(text, length)))
