import { refusal } from './source.ts'

export interface TextEdit {
  readonly find: string
  readonly replace: string
  /** How many occurrences there are to be; `one` unless told. */
  readonly occurrences?: 'one' | 'all'
}

/** A text that is there twice names no place: the caller gives more of what is around it. */
export function applyEdit(text: string, { find, replace, occurrences = 'one' }: TextEdit): string {
  if (find === '') throw refusal('The text to find is empty.')
  const parts = text.split(find)
  const count = parts.length - 1
  if (count === 0) throw refusal('The text to find is not in the file. Read it, and give the text as it stands there.')
  if (count > 1 && occurrences === 'one')
    throw refusal(`The text to find is in the file ${count} times. Give more of what is around it, or replace all.`)
  return parts.join(replace)
}
