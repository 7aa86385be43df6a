import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { SallyportError } from '@sallyport/core'
import type { Environment } from './data-folder.ts'
import { isPrintableName } from './printable-name.ts'
import type { Identity } from './request-scope.ts'

let processSession: string | undefined

/**
 * The caller over standard input and output: the user who started the process, with one session for its lifetime.
 * `$SALLYPORT_USER_ID` and `$SALLYPORT_SESSION_ID` override that.
 */
export function readLocalIdentity(environment: Environment): Identity {
  processSession ??= `stdio:${randomUUID()}`
  return {
    userId: readName(environment, 'SALLYPORT_USER_ID') ?? getOsUser(),
    sessionId: readName(environment, 'SALLYPORT_SESSION_ID') ?? processSession,
  }
}

function readName(environment: Environment, variable: string): string | undefined {
  const value = environment[variable]
  if (value === undefined || isPrintableName(value)) return value
  throw new SallyportError('CONFIG_INVALID', `The variable ${variable} is not a valid name.`, {
    hint: 'Give 1 to 256 printable characters, or unset it.',
  })
}

/** The name of the OS user who runs this process. A container's user often has no name; then it is the number. */
export function getOsUser(): string {
  try {
    const { username } = userInfo()
    if (isPrintableName(username)) return username
  } catch {
    // userInfo throws if the user id has no entry in the user database.
  }
  return `uid-${process.getuid?.() ?? 'unknown'}`
}
