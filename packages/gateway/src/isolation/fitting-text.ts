import { estimateTokens, findPreset, shapeText } from '@sallyport/core'

const CHARACTERS_PER_TOKEN = 4

/** A text for a model that may read so many tokens: as it is, or what tells most of it. */
export function fitToTokens(text: string, tokens: number): string {
  // A token is seldom less than one character, so that what is short is not even counted.
  if (text.length <= tokens || (text.length <= 10 * tokens && estimateTokens(text) <= tokens)) return text
  const threshold = Math.min(text.length - 1, Math.floor(tokens * CHARACTERS_PER_TOKEN))
  return shapeText(text, { ...findPreset('default'), threshold, previewTokens: tokens }).text
}
