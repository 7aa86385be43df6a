/** The roles that may use the admin API, from the weakest to the strongest: each may do what those before it may do. */
export const ADMIN_ROLES = ['viewer', 'approver', 'operator'] as const
export type AdminRole = (typeof ADMIN_ROLES)[number]

/** Whether a caller with this role may do what needs `needed`. An unknown role may do nothing. */
export function hasRole(role: string, needed: AdminRole): boolean {
  return ADMIN_ROLES.indexOf(role as AdminRole) >= ADMIN_ROLES.indexOf(needed)
}

/** The caller. It comes from a verified credential, never from what a message claims. */
export interface Principal {
  readonly user: string
  /** The kind of client program that the credential was made for (claude-code, codex, …), or `any`. */
  readonly agent: string
  /** A variant of the agent with its own selection of tools. */
  readonly profile: string
  /** One piece of work. The sensitivity label belongs to it. */
  readonly session: string
  /** An agent may not use the admin API. */
  readonly role: AdminRole | 'agent'
  /** The caller chose agent and profile; the credential was not made for them. This can only restrict, never grant. */
  readonly isClaimed?: true
  /** What the credential was made for, if the caller chose something else. The rules of both apply. */
  readonly madeFor?: { readonly agent: string; readonly profile: string }
  /** The id of the minted token. Calls that still wait when it is revoked must not continue. */
  readonly token?: string
  /** Selectors that narrow what the profile selects, for one launch. */
  readonly tools?: readonly string[]
  /** A person sits at the client and sees its questions: `run` started it in a terminal. */
  readonly isAttended?: true
}

type Owner = Pick<Principal, 'user' | 'session'>

/** A cache: each call needs the key several times, and the same caller is the same object. */
const owners = new WeakMap<Owner, string>()

/** User and session as one string. A session is unique only per user, and neither contains a line break. */
export function toOwnerKey(principal: Owner): string {
  const known = owners.get(principal)
  if (known !== undefined) return known
  const owner = `${principal.user}\n${principal.session}`
  owners.set(principal, owner)
  return owner
}

/** The inverse of `toOwnerKey`. */
export function parseOwnerKey(owner: string): Owner {
  const [user = '', session = ''] = owner.split('\n')
  return { user, session }
}
