import { redactText } from '../secrets/find-secrets.ts'
import { cutText, toVisibleText } from './visible-text.ts'

/** How much is read beyond the shown part, to recognize a secret that begins in the shown part. */
const LOOK_AHEAD = 8_000

/** The beginning of an untrusted text. Secrets are replaced before the cut, since half of one is not recognized. */
export const redactAndCut = (text: string, length: number): string =>
  cutText(redactText(text.slice(0, length + LOOK_AHEAD)), length)

/** The beginning of an untrusted text for a message, with invisible characters escaped. */
export const excerpt = (text: string, length: number): string => toVisibleText(redactAndCut(text, length))

/** The same in quotes. */
export const quoteText = (text: string, length: number): string =>
  toVisibleText(JSON.stringify(redactAndCut(text, length)))
