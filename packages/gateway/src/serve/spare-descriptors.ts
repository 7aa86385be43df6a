import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { SallyportError } from '@sallyport/core'

/** Refuses unless so many files could be opened at this moment. */
export function requireFreeDescriptors(count: number): void {
  const opened: number[] = []
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'))
  } catch (cause) {
    throw new SallyportError('OVERLOADED', 'The gateway has too many files and connections open for this.', {
      hint: 'Close some, or allow it more with `ulimit -n`.',
      cause,
    })
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}
