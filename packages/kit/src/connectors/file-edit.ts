import { compileSearch } from './file-search.ts'
import { refusal } from './source.ts'

/** A replacement of one string by another. */
export interface TextEdit {
  readonly find: string
  readonly replace: string
  /** How many occurrences there are to be; `one` unless told. */
  readonly occurrences?: 'one' | 'all'
}

/** A text of this length cannot be written anyway, and a longer one cannot even be put together. */
const MAX_LENGTH = 256 * 1024 * 1024

/** A text that is there twice names no place: the caller gives more of what is around it. */
export function applyEdit(text: string, { find, replace, occurrences = 'one' }: TextEdit): string {
  if (find === '') throw refusal('The text to find is empty.')
  const places = findOccurrences(text, find)
  const { length: count } = places
  if (count === 0) throw refusal('The text to find is not in the file. Read it, and give the text as it stands there.')
  if (count > 1 && occurrences === 'one')
    throw refusal(`The text to find is in the file ${count} times. Give more of what is around it, or replace all.`)
  const length = text.length + count * (replace.length - find.length)
  if (length > MAX_LENGTH)
    throw refusal(`The file would have ${length} characters; at most ${MAX_LENGTH} are possible.`)
  const parts = places.map((place, index) =>
    text.slice(index === 0 ? 0 : (places[index - 1] ?? 0) + find.length, place),
  )
  return [...parts, text.slice((places.at(-1) ?? 0) + find.length)].join(replace)
}

/** Each place behind the one before it. */
function findOccurrences(text: string, find: string): readonly number[] {
  const findFrom = compileSearch(find)
  const places: number[] = []
  for (let at = findFrom(text); at >= 0; at = findFrom(text, at + find.length)) places.push(at)
  return places
}
