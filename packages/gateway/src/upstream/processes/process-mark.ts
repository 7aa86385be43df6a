import { SallyportError } from '@sallyport/core'

/** Every process behind a gateway has this variable in its environment, and passes it on to whatever it starts. */
export const MARK_VARIABLE = 'SALLYPORT_MARK'

const PART = /^[A-Za-z0-9_-]+$/

/**
 * `<state>.<run>.<server>.<number>`, or the first parts of it for all the processes below. The parts contain neither
 * dots nor spaces, so that whole parts can be compared and a mark is a safe argument for a shell.
 */
export function createMark(...parts: readonly string[]): string {
  const bad = parts.find((part) => !PART.test(part))
  if (bad !== undefined || parts.length === 0) {
    throw new SallyportError('INTERNAL', `${JSON.stringify(bad ?? '')} is not a valid part of a process mark.`)
  }
  return parts.join('.')
}

/**
 * Adds a mark to the existing ones: a gateway may itself run behind another gateway, and both must find its servers.
 */
export function addMark(carried: string | undefined, mark: string): string {
  return carried === undefined || carried === '' ? mark : `${carried} ${mark}`
}

/** Whether one of the marks is this one or below it. */
export function carriesMark(carried: string, mark: string): boolean {
  return carried.split(' ').some((one) => one === mark || one.startsWith(`${mark}.`))
}
