import { isJsonObject, type JsonObject, type Principal, SallyportError } from '@sallyport/core'

/** What a program asked for, before anything of it is believed: not every program is type-checked. */
export interface CallRequest {
  readonly tool: unknown
  readonly args: unknown
  readonly options: unknown
}

export interface ParsedCall {
  readonly tool: string
  /** A copy: what is decided on is what is sent, whatever the program does with its own meanwhile. */
  readonly args: JsonObject
  /** A copy: callers are known again by their objects, and the program may have changed its own since. */
  readonly principal: Principal | undefined
  readonly signal: AbortSignal | undefined
}

/** Reads a call of this program; what is none is a flaw that it can be told. */
export function parseCall({ tool, args = {}, options }: CallRequest): ParsedCall | SallyportError {
  if (typeof tool !== 'string') return invalidParams('A tool is named by a text', tool)
  if (!isJsonObject(args)) return invalidParams('The arguments of a tool are an object', args)
  if (!isJsonObject(options)) return invalidParams('The options of a call are an object', options)
  const { principal, signal } = options as { readonly principal?: unknown; readonly signal?: unknown }
  if (principal !== undefined && !isPrincipal(principal))
    return invalidParams('A principal is an object with user, agent, profile, session and role', principal)
  if (signal != null && !isSignal(signal)) return invalidParams('A signal is an AbortSignal', signal)
  const copy = copyOf(args)
  if (copy instanceof SallyportError) return copy
  return { tool, args: copy, principal: principal && { ...principal }, signal: signal ?? undefined }
}

function copyOf(args: JsonObject): JsonObject | SallyportError {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(args))
    return isJsonObject(copy) ? copy : invalidParams('The arguments of a tool are an object', copy)
  } catch (cause) {
    return new SallyportError('INVALID_PARAMS', 'The arguments cannot be written as JSON.', {
      hint: 'They must hold no BigInt and not themselves.',
      cause,
    })
  }
}

function isPrincipal(value: unknown): value is Principal {
  if (!isJsonObject(value)) return false
  const { user, agent, profile, session, role } = value
  const areTexts = [user, agent, profile, session].every((part) => typeof part === 'string')
  return areTexts && (role === 'agent' || role === 'operator')
}

/** By what it can do: a signal of another realm is no instance of ours. */
function isSignal(value: unknown): value is AbortSignal {
  const { addEventListener, removeEventListener, aborted } = value as Partial<AbortSignal>
  return [addEventListener, removeEventListener].every((part) => typeof part === 'function') && aborted !== undefined
}

const invalidParams = (expected: string, got: unknown): SallyportError =>
  new SallyportError('INVALID_PARAMS', `${expected}, not ${kindOf(got)}.`)

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'such an object' : `a ${typeof value}`
}
