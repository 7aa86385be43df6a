import { isJsonObject, type Json, SallyportError } from '@sallyport/core'

const RESERVED = new Set(['userid', 'sessionid'])
const BRANCHES = ['allOf', 'anyOf', 'oneOf'] as const

/** Refuses a schema with which a model could say who it is. */
export function refuseIdentityParameters(tool: string, schema: Json): void {
  const found = findIdentityParameter(schema)
  if (found === undefined) return
  throw new SallyportError(
    'USAGE',
    `The tool "${tool}" has the parameter "${found}": a model could name anybody there.`,
    {
      hint: 'Remove it, and call getUserId() or getSessionId() in the handler; they come from the verified token.',
    },
  )
}

/** Among the arguments themselves; deeper inside, the same word is data like any other. */
function findIdentityParameter(schema: Json | undefined): string | undefined {
  if (!isJsonObject(schema)) return undefined
  const named = isJsonObject(schema.properties) ? Object.keys(schema.properties) : []
  const own = named.find((name) => RESERVED.has(name.replaceAll(/[_-]/g, '').toLowerCase()))
  if (own !== undefined) return own
  for (const branch of BRANCHES) {
    const parts: unknown = schema[branch]
    for (const part of Array.isArray(parts) ? (parts as readonly Json[]) : []) {
      const found = findIdentityParameter(part)
      if (found !== undefined) return found
    }
  }
  return undefined
}
