import { didYouMean, SallyportError } from '@sallyport/core'

/** Reads one of a few words, and says which was probably meant when it is none of them. */
export function createChoiceParser<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const found = choices.find((choice) => choice === text)
    if (found !== undefined) return found
    throw new SallyportError('USAGE', `"${text}" is none of ${choices.join(', ')}.${didYouMean(text, choices)}`)
  }
}
