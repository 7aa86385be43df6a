/** Who calls. It comes from a verified credential, never from what a message claims. */
export interface Principal {
  readonly user: string
  /** The kind of client program the credential was made for (claude-code, codex, …), or `any`. */
  readonly agent: string
  /** The agent's variant with its own selection. */
  readonly profile: string
  /** One piece of work: the carrier of the sensitivity label. */
  readonly session: string
  /** The operator may use the admin plane; an agent never. */
  readonly role: 'operator' | 'agent'
  /** Agent and profile are what the caller chose, not what the credential was made for: that narrows, and grants nothing. */
  readonly isClaimed?: true
  /** What the credential was made for, where the caller chose something else of it: the rules of both count. */
  readonly madeFor?: { readonly agent: string; readonly profile: string }
  /** The minted token that it came with, by its id: what still waits when that is revoked must not go on. */
  readonly token?: string
  /** Selectors that narrow what the profile selects, for one launch. */
  readonly tools?: readonly string[]
  /** A person sits in front of the client, and is shown what it is asked: `run` started it in a terminal. */
  readonly isAttended?: true
}

type Owner = Pick<Principal, 'user' | 'session'>

/** Each call needs it several times, and a caller that was seen before is the same object. */
const owners = new WeakMap<Owner, string>()

/** Whose work it is, as one text: a session is unique only together with its user, and neither holds a line break. */
export function toOwnerKey(principal: Owner): string {
  const known = owners.get(principal)
  if (known !== undefined) return known
  const owner = `${principal.user}\n${principal.session}`
  owners.set(principal, owner)
  return owner
}

/** The user and the session of such a text. */
export function parseOwnerKey(owner: string): Owner {
  const [user = '', session = ''] = owner.split('\n')
  return { user, session }
}
