/** What does not show, what could end a line in some YAML or some editor, and what YAML does not allow at all. */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu

/** Foreign text as it may stand behind a `#`: one line, visible characters and single spaces, no longer than told. */
export function toCommentText(text: string, length: number): string {
  // Looked at in part, since a description can be of any size; what is left out of it could have been spaces only.
  const seen = text
    .slice(0, length * 16)
    .replaceAll(UNSEEN, ' ')
    .trim()
  const characters = [...seen]
  if (characters.length <= length) return seen
  return `${characters
    .slice(0, length - 1)
    .join('')
    .trimEnd()}…`
}
