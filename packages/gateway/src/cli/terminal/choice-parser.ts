import { didYouMean, SallyportError } from '@sallyport/core'

/** Parses one of several words; the error suggests the closest one. */
export function createChoiceParser<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const found = choices.find((choice) => choice === text)
    if (found !== undefined) return found
    throw new SallyportError('USAGE', `"${text}" is not one of ${choices.join(', ')}.${didYouMean(text, choices)}`)
  }
}
