import { ToolRetryError } from '../retry-fatal-errors.ts'

/** Which part of a list or file is returned. */
export interface Page {
  readonly offset?: number
  readonly limit?: number
}

export function clampPage({ offset = 0, limit = Number.MAX_SAFE_INTEGER }: Page, maxLimit: number): Required<Page> {
  for (const [name, value] of Object.entries({ offset, limit }))
    if (!Number.isSafeInteger(value) || value < 0)
      throw new ToolRetryError(`The ${name} is ${value}; expected a whole number from 0.`)
  return { offset, limit: Math.min(limit, maxLimit) }
}
