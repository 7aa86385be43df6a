import { SallyportError } from '@sallyport/core'

/** Every process behind a gateway carries this in its environment, and hands it on to whatever it starts. */
export const MARK_VARIABLE = 'SALLYPORT_MARK'

const PART = /^[A-Za-z0-9_-]+$/

/**
 * `<state>.<run>.<server>.<number>`, or the first parts of it for all the processes below.
 *
 * The parts hold neither dots nor spaces, so that whole parts can be compared and a shell can be handed one.
 */
export function createMark(...parts: readonly string[]): string {
  const bad = parts.find((part) => !PART.test(part))
  if (bad !== undefined || parts.length === 0) {
    throw new SallyportError(
      'INTERNAL',
      `A mark was to be made of ${JSON.stringify(bad ?? '')}, which is no plain word.`,
    )
  }
  return parts.join('.')
}

/** Adds a mark to the ones already carried: a gateway may itself run behind another, and both must find its servers. */
export function addMark(carried: string | undefined, mark: string): string {
  return carried === undefined || carried === '' ? mark : `${carried} ${mark}`
}

/** Whether one of the marks carried is this one or below it. */
export function carriesMark(carried: string, mark: string): boolean {
  return carried.split(' ').some((one) => one === mark || one.startsWith(`${mark}.`))
}
