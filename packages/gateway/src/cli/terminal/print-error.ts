import { randomBytes } from 'node:crypto'
import { SallyportError } from '@sallyport/core'
import { findMissingPackage, INCOMPLETE_INSTALLATION_HINT } from '../../disk/disk.ts'
import { PLAIN, type Style, visibleLines } from './terminal-text.ts'

export interface ErrorFormat {
  readonly json: boolean
  /** Show where a bug came from. */
  readonly debug: boolean
  readonly style?: Style
}

/** The text for stderr about a failure, without a final newline. */
export function describeError(error: unknown, { json, debug, style = PLAIN }: ErrorFormat): string {
  const { code, message, hint } = toExpectedError(error, debug)
  if (json) return JSON.stringify({ error: { code, message, ...(hint !== undefined && { hint }) } })
  const head = `${style.red('✗')} ${style.bold(code)} ${visibleLines(message)}`
  return hint === undefined ? head : `${head}\n  ${visibleLines(hint).replaceAll('\n', '\n  ')}`
}

export function exitCodeOf(error: unknown): number {
  return error instanceof SallyportError ? error.kind.exit : 1
}

/** Any error that is not ours is a bug: it gets an incident id, so that it can be found again. */
function toExpectedError(error: unknown, debug: boolean): SallyportError {
  if (error instanceof SallyportError) return error
  const missing = findMissingPackage(error)
  if (missing !== undefined)
    return new SallyportError('INTERNAL', `The package ${missing} is missing.`, {
      hint: INCOMPLETE_INSTALLATION_HINT,
      cause: error,
    })
  const incident = randomBytes(4).toString('hex')
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const stack = debug && error instanceof Error && error.stack ? `\n${error.stack}` : ''
  return new SallyportError('INTERNAL', `This is a bug in Sallyport (incident ${incident}): ${what}${stack}`, {
    hint: debug ? 'Please report it with these lines.' : 'Set SALLYPORT_DEBUG=1 to see where it comes from.',
    cause: error,
  })
}

/** Reports a bug once, on stderr. Returns the incident id for the answer. */
export function reportBug(error: unknown, where: string): string {
  const incident = randomBytes(4).toString('hex')
  process.stderr.write(
    `✗ INTERNAL in ${where} (incident ${incident}): ${error instanceof Error ? error.stack : String(error)}\n`,
  )
  return incident
}
