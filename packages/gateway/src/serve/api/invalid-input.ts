import { z } from '@hono/zod-openapi'
import { didYouMean, quoteText, SallyportError } from '@sallyport/core'

const INPUT_PARTS: Readonly<Record<string, string>> = { json: 'the body', query: 'the query', param: 'the path' }

/** An object with these members and no others: a misspelt filter must not silently filter nothing. */
export function strictInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      return issue.keys.map((key) => `${quote(key)} is not known.${didYouMean(key, known)}`).join(' ')
    },
  })
}

/** What is wrong with an input, for each place that is wrong. */
export function invalidInput(target: string, error: z.core.$ZodError): SallyportError {
  const part = INPUT_PARTS[target] ?? target
  const flaws = error.issues.slice(0, 5).map(({ path, message }) => {
    const place = path.length === 0 ? '' : `${quote(path.join('.'))}: `
    return `${place}${message.replace(/\.$/, '')}`
  })
  return new SallyportError('INVALID_PARAMS', `In ${part}: ${flaws.join('; ')}.`, {
    hint: 'What each route takes is described at /api/openapi.json.',
  })
}

const quote = (text: string): string => quoteText(text, 100)
