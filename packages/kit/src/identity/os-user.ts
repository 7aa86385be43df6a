import { userInfo } from 'node:os'
import { isPrintableName } from './claim-text.ts'

/** The name of the OS user who runs this. A container's user often has no name, and then it is the number. */
export function getOsUser(): string {
  try {
    const { username } = userInfo()
    if (isPrintableName(username)) return username
  } catch {
    // userInfo throws where the user id has no entry in the user database.
  }
  return `uid-${process.getuid?.() ?? 'unknown'}`
}
