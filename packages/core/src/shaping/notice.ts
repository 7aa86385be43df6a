import type { ContentKind } from './content-kind.ts'
import type { Preview } from './preview.ts'
import { cutBefore, formatCount, groupDigits } from './safe-cut.ts'

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

const MAX_REST_LENGTH = 200

export interface NoticeFacts {
  readonly kind: ContentKind
  /** Of the whole, in characters. */
  readonly length: number
  readonly preview?: Preview
  readonly hints: { readonly handle?: string; readonly rest?: string }
}

/** One line that says what is missing and how it is reached. */
export function formatNotice({ kind, length, preview, hints }: NoticeFacts): string {
  const what = `${KIND_WORDS[kind]} of ${formatCount(length, 'character')}`
  const rest = formatRest(hints)
  const first =
    preview === undefined || preview.text === ''
      ? `Left out: ${what}.`
      : `Preview of ${what}: ${describeOmission(preview)}.`
  return rest === '' ? first : `${first} ${rest}`
}

function describeOmission({ omission: { count, of, noun }, hasCuts }: Preview): string {
  const parts = [
    ...(count > 0 ? [`${groupDigits(count)} of ${formatCount(of, noun)} omitted`] : []),
    ...(hasCuts ? ['long parts cut'] : []),
  ]
  return parts.length === 0 ? 'only white space is left out' : parts.join(', ')
}

function formatRest({ handle, rest }: NoticeFacts['hints']): string {
  const said = rest ?? (handle === undefined ? '' : `Read the whole with ${READ_RESULT_TOOL}, handle ${handle}.`)
  // Whoever says it may quote others: it stays one short line.
  return said.slice(0, cutBefore(said, MAX_REST_LENGTH)).replaceAll(/\s+/g, ' ').trim()
}
