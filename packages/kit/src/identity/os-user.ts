import { userInfo } from 'node:os'
import { isClaimText } from './claim-text.ts'

/** The name of the OS user who runs this. A container's user often has no name, and then it is the number. */
export function osUser(): string {
  try {
    const { username } = userInfo()
    if (isClaimText(username)) return username
  } catch {
    // userInfo throws where the user id has no entry in the user database.
  }
  return `uid-${process.getuid?.() ?? 'unknown'}`
}
