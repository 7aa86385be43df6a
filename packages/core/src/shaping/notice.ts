import type { ContentKind } from './content-kind.ts'
import type { Preview } from './preview.ts'
import { counted, cutBefore, grouped } from './safe-cut.ts'

const KIND_WORDS: Readonly<Record<ContentKind, string>> = {
  json: 'JSON',
  ndjson: 'JSON lines',
  csv: 'CSV',
  tsv: 'TSV',
  html: 'HTML',
  xml: 'XML',
  markdown: 'Markdown',
  yaml: 'YAML',
  log: 'a log',
  text: 'a text',
  binary: 'binary data',
}

/** The name of the tool that reads what was saved, here and in the gateway. */
export const READ_RESULT_TOOL = 'sallyport_read_result'

const LONGEST_REST = 200

export interface NoticeFacts {
  readonly kind: ContentKind
  /** Of the whole, in characters. */
  readonly length: number
  readonly preview?: Preview
  readonly hints: { readonly handle?: string; readonly rest?: string }
}

/** One line that says what is missing and how it is reached. */
export function sayNotice({ kind, length, preview, hints }: NoticeFacts): string {
  const what = `${KIND_WORDS[kind]} of ${counted(length, 'character')}`
  const rest = sayRest(hints)
  const first =
    preview === undefined || preview.text === '' ? `Left out: ${what}.` : `Preview of ${what}: ${missing(preview)}.`
  return rest === '' ? first : `${first} ${rest}`
}

function missing({ omission: { count, of, noun }, hasCuts }: Preview): string {
  const parts = [
    ...(count > 0 ? [`${grouped(count)} of ${counted(of, noun)} omitted`] : []),
    ...(hasCuts ? ['long parts cut'] : []),
  ]
  return parts.length === 0 ? 'only white space is left out' : parts.join(', ')
}

function sayRest({ handle, rest }: NoticeFacts['hints']): string {
  const said = rest ?? (handle === undefined ? '' : `Read the whole with ${READ_RESULT_TOOL}, handle ${handle}.`)
  // Whoever says it may quote others: it stays one short line.
  return said.slice(0, cutBefore(said, LONGEST_REST)).replaceAll(/\s+/g, ' ').trim()
}
