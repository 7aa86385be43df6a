import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Principal } from '@sallyport/core'
import { getOsUser } from '@sallyport/kit/identity'
import { readPrivateFile } from '@sallyport/kit/keys'
import { replaceFile } from '../disk/disk.ts'
import { type RandomBytes, randomSecret } from './secret.ts'

/** The roles of the two tokens that always exist, in clear text, for programs of the same OS user. */
export type StandingRole = 'operator' | 'agent'

export const STANDING_ROLES: readonly StandingRole[] = ['operator', 'agent']

export const TOKEN_PREFIX = { operator: 'spo_', agent: 'spa_' } as const

const TOKEN_PATTERN = { operator: /^spo_[\w-]{43}$/, agent: /^spa_[\w-]{43}$/ } as const
/** The sessions of callers with these tokens. */
export const STANDING_SESSIONS = { operator: 'operator', agent: 'local' } as const

/** The principal of a caller with a standing token, or of one that needs no token. */
export function standingPrincipal(role: StandingRole): Principal {
  return Object.freeze({ user: getOsUser(), agent: 'any', profile: 'default', session: STANDING_SESSIONS[role], role })
}

export function parseStandingToken(text: string, role: StandingRole): string | undefined {
  const token = text.endsWith('\n') ? text.slice(0, -1) : text
  return TOKEN_PATTERN[role].test(token) ? token : undefined
}

export interface StandingTokenOptions {
  readonly folder: string
  readonly randomBytes: RandomBytes
  readonly onWarning: (text: string) => void
}

/** Creates the token at the first start, and replaces it if other users may know it or if it cannot be read. */
export async function ensureStandingToken(role: StandingRole, options: StandingTokenOptions): Promise<void> {
  const path = join(options.folder, role)
  const file = readPrivateFile(path, 'leave')
  if (file.state === 'sound' && parseStandingToken(file.text, role) !== undefined) return
  if (file.state !== 'absent') {
    options.onWarning(`The ${role} token ${path} ${reasonFor(file)}. It was replaced by a new one.`)
    // Otherwise the new file would keep the link or the permissions of the old one.
    rmSync(path, { force: true })
  }
  await replaceFile(path, `${TOKEN_PREFIX[role]}${randomSecret(options.randomBytes)}\n`, { mode: 0o600 })
}

function reasonFor(file: Exclude<ReturnType<typeof readPrivateFile>, { state: 'absent' }>): string {
  if ('problem' in file) return file.problem
  return file.state === 'exposed' ? 'could be read by other users' : 'does not hold a token'
}
