import { SallyportError, type SallyportEvent } from '@sallyport/core'
import { agentSlug, profileKey } from '../../config/config.ts'
import type { MintedToken, MintRequest } from '../../sessions/sessions.ts'
import type { AdminContext } from './admin-context.ts'

interface TokenRequestFields extends Omit<MintRequest, 'user'> {
  /** Sources of servers that the client gets and the gateway does not govern. They are only recorded. */
  readonly otherServers: readonly string[]
}

/** What a new token is for. */
export type TokenRequest = { readonly [Name in keyof TokenRequestFields]?: TokenRequestFields[Name] | undefined }

type TokenContext = Pick<AdminContext, 'tokens' | 'settings' | 'store' | 'record'>

/** Creates a token. If it cannot be recorded, it is revoked and not returned. */
export async function mintToken(context: TokenContext, request: TokenRequest): Promise<MintedToken> {
  const minted = await context.tokens.mint(toMintRequest(request, context))
  const { id, agent, profile } = minted.record
  const others = request.otherServers ?? []
  try {
    const event = { type: 'TOKEN_MINTED', token_id: id, agent, profile } as const
    await recordDurably(context, others.length === 0 ? event : { ...event, other_servers: others })
    return minted
  } catch (error) {
    await context.tokens.revoke(id)
    throw error
  }
}

export async function revokeToken(context: TokenContext, id: string): Promise<void> {
  if (!(await context.tokens.revoke(id))) throw unknownToken(id)
  // The token is already gone: a failing log must not make it look as if it still existed.
  context.record({ type: 'TOKEN_REVOKED', token_id: id })
}

/** If the request names no session, the profile may name one. */
function toMintRequest(request: TokenRequest, { settings }: TokenContext): MintRequest {
  const { agent = 'any', profile = 'default', session, ttlMs, tools, attended } = request
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
