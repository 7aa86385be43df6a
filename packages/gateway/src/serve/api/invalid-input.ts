import { z } from '@hono/zod-openapi'
import { didYouMean, quoteText, SallyportError } from '@sallyport/core'

const INPUT_PARTS: Readonly<Record<string, string>> = { json: 'the body', query: 'the query', param: 'the path' }

/** An object with only these members: a misspelt filter must not be ignored silently. */
export function strictInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      return issue.keys.map((key) => `${quote(key)} is not known.${didYouMean(key, known)}`).join(' ')
    },
  })
}

/** Lists the problems of an input, each with the path of the invalid member. */
export function invalidInput(target: string, error: z.core.$ZodError): SallyportError {
  const part = INPUT_PARTS[target] ?? target
  const problems = error.issues.slice(0, 5).map(({ path, message }) => {
    const location = path.length === 0 ? '' : `${quote(path.join('.'))}: `
    return `${location}${message.replace(/\.$/, '')}`
  })
  return new SallyportError('INVALID_PARAMS', `In ${part}: ${problems.join('; ')}.`, {
    hint: 'The input of each route is described at /api/openapi.json.',
  })
}

const quote = (text: string): string => quoteText(text, 100)
