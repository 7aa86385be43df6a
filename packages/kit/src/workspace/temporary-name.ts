import { randomBytes } from 'node:crypto'

const PATTERN = /^\.sallyport-[0-9a-f]{32}\.tmp$/

/** For a file that is being written and has no name of its own yet. */
export const createTemporaryName = (): string => `.sallyport-${randomBytes(16).toString('hex')}.tmp`

/** Such files are neither listed nor reached by agents: they come and go within one write. */
export const isTemporaryName = (name: string): boolean => PATTERN.test(name)
