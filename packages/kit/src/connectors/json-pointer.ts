import { refusal } from './source.ts'

const DEEPEST = 100

/** The steps of a JSON pointer (RFC 6901): `/items/0/name`; the empty one is the whole document. */
export function readPointer(pointer: string): readonly string[] {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer))
    throw refusal(
      `The pointer is ${JSON.stringify(pointer.slice(0, 80))}; expected one such as "/items/0/name", or "".`,
    )
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (steps.length > DEEPEST) throw refusal(`The pointer has ${steps.length} steps; at most ${DEEPEST} are allowed.`)
  return steps
}

export const pointerTo = (steps: readonly string[]): string =>
  steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
