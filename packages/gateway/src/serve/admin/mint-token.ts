import { SallyportError, type SallyportEvent } from '@sallyport/core'
import { agentSlug, profileKey } from '../../config/config.ts'
import type { MintedToken, MintRequest } from '../../sessions/sessions.ts'
import type { AdminContext } from './admin-context.ts'

interface TokenRequestFields extends Omit<MintRequest, 'user'> {
  /** What gives its client servers that are not governed; it is recorded. */
  readonly otherServers: readonly string[]
}

/** What a token is to be for. */
export type TokenRequest = { readonly [Name in keyof TokenRequestFields]?: TokenRequestFields[Name] | undefined }

type TokenContext = Pick<AdminContext, 'tokens' | 'settings' | 'store' | 'record'>

/** A token of which there is no record is not given out. */
export async function mintToken(desk: TokenContext, wish: TokenRequest): Promise<MintedToken> {
  const minted = await desk.tokens.mint(toMintRequest(wish, desk))
  const { id, agent, profile } = minted.record
  const others = wish.otherServers ?? []
  try {
    const event = { type: 'TOKEN_MINTED', token_id: id, agent, profile } as const
    await recordDurably(desk, others.length === 0 ? event : { ...event, other_servers: others })
    return minted
  } catch (error) {
    await desk.tokens.revoke(id)
    throw error
  }
}

export async function revokeToken(desk: TokenContext, id: string): Promise<void> {
  if (!(await desk.tokens.revoke(id))) throw unknownToken(id)
  // It is gone already: a log that cannot be written must not make that look undone.
  desk.record({ type: 'TOKEN_REVOKED', token_id: id })
}

/** Where nobody names a session, the profile may. */
function toMintRequest(wish: TokenRequest, { settings }: TokenContext): MintRequest {
  const { agent = 'any', profile = 'default', session, ttlMs, tools, attended } = wish
  const chosen = session ?? settings.profiles.get(profileKey(agentSlug(agent), profile))?.session
  return {
    agent,
    profile,
    ...(chosen !== undefined && { session: chosen }),
    ...(ttlMs !== undefined && { ttlMs }),
    ...(tools && { tools }),
    ...(attended && { attended }),
  }
}

async function recordDurably({ store, settings }: TokenContext, event: SallyportEvent): Promise<void> {
  try {
    store.log.append(event)
    await store.log.sync()
  } catch (error) {
    if (!(error instanceof SallyportError) || settings.audit.required) throw error
  }
}

function unknownToken(id: string): SallyportError {
  return new SallyportError('TOKEN_UNKNOWN', `There is no token ${JSON.stringify(id.slice(0, 100))}.`, {
    hint: 'See `sallyport token list`.',
  })
}
