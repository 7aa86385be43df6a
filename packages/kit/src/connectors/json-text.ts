import { findInexactNumber, isJsonDeeperThan, type Json, quoteInexactNumbers } from '@sallyport/core'
import { refusal } from './source.ts'

/** `refuse` (unless told): a number that JavaScript cannot hold exactly is an error; `text`: it comes as a text. */
export type BigNumbers = 'refuse' | 'text'

/** Nothing of the text is quoted in the error: it may be private. */
export function parseJson(text: string, where: string, bigNumbers: BigNumbers = 'refuse'): Json {
  const value = checkJson(text, where)
  const inexact = findInexactNumber(text)
  if (inexact === undefined) return value
  if (bigNumbers === 'text') return JSON.parse(quoteInexactNumbers(text)) as Json
  throw refusal(
    `${where}: the number at line ${lineAt(text, inexact.start)} has more digits than can be kept. Ask for such numbers as text (bigNumbers: 'text').`,
  )
}

/** What nobody needs, and what writes values out does not survive. */
const MAX_DEPTH = 500

/** The value, where the text is JSON; an error otherwise. */
export function checkJson(text: string, where: string): Json {
  if (isJsonDeeperThan(text, MAX_DEPTH)) throw refusal(`${where}: the document is nested deeper than ${MAX_DEPTH}.`)
  return parseText(text, where)
}

function parseText(text: string, where: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    // The engine's message quotes the text; its place is all that is told.
    const place = error instanceof Error ? / position (\d+)/.exec(error.message)?.[1] : undefined
    const line = place === undefined ? '' : ` (near line ${lineAt(text, Number(place))})`
    throw refusal(`${where}: this is no JSON${line}.`)
  }
}

const lineAt = (text: string, place: number): number => text.slice(0, place).split('\n').length
