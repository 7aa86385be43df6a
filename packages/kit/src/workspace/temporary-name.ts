import { randomBytes } from 'node:crypto'

const PATTERN = /^\.sallyport-[0-9a-f]{32}\.tmp$/

/** The name of a file while it is being written. */
export const createTemporaryName = (): string => `.sallyport-${randomBytes(16).toString('hex')}.tmp`

/** Such files exist only during a write. Agents can neither list nor open them. */
export const isTemporaryName = (name: string): boolean => PATTERN.test(name)
