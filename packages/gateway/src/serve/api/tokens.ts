import { createRoute, z } from '@hono/zod-openapi'
import { SallyportError, type SallyportEvent } from '@sallyport/core'
import { agentSlug, profileKey } from '../../config/config.ts'
import type { MintedToken, MintRequest, TokenRecord } from '../../sessions/sessions.ts'
import type { AdminContext } from '../admin-context.ts'
import { inputOf } from './invalid-input.ts'
import { createRoutes, jsonOf, PROBLEMS } from './routes.ts'

const tokenSchema = z
  .object({
    id: z.string(),
    agent: z.string(),
    profile: z.string(),
    user: z.string(),
    session: z.string(),
    created: z.iso.datetime(),
    tools: z.array(z.string()).optional().openapi({ description: 'What narrows the selection of its profile.' }),
    attended: z
      .literal(true)
      .optional()
      .openapi({ description: 'A person sits in front of its client, and may approve what it does.' }),
    expires: z.iso.datetime().optional(),
  })
  .openapi('Token')

export type TokenView = z.infer<typeof tokenSchema>

const mintBody = inputOf({
  agent: z.string().optional().openapi({ description: 'The kind of client it is for; `any` unless given.' }),
  profile: z.string().optional().openapi({ description: '`default` unless given.' }),
  session: z.string().optional().openapi({ description: 'A session of its own unless given.' }),
  tools: z
    .array(z.string())
    .optional()
    .openapi({ description: 'Selectors that narrow what its profile selects; they never widen it.' }),
  attended: z
    .boolean()
    .optional()
    .openapi({ description: 'A person sits in front of its client, and may approve what it does.' }),
  otherServers: z
    .array(z.string().max(4_096))
    .max(1_000)
    .optional()
    .openapi({ description: 'What gives its client MCP servers that are not governed; it is recorded.' }),
  ttlMs: z.number().positive().optional().openapi({ description: 'Until it is revoked unless given.' }),
})

const listTokens = createRoute({
  method: 'get',
  path: '/tokens',
  summary: 'The minted tokens that count, oldest first',
  responses: { 200: jsonOf(z.object({ tokens: z.array(tokenSchema) }), 'Without the tokens themselves.'), ...PROBLEMS },
})

const mintToken = createRoute({
  method: 'post',
  path: '/tokens',
  summary: 'Mint a token for an agent',
  request: { body: { required: true, content: { 'application/json': { schema: mintBody } } } },
  responses: {
    201: jsonOf(z.object({ token: z.string(), record: tokenSchema }), 'The token: shown this once, kept nowhere.'),
    ...PROBLEMS,
  },
})

const revokeToken = createRoute({
  method: 'delete',
  path: '/tokens/{id}',
  summary: 'Revoke a token',
  request: { params: inputOf({ id: z.string() }) },
  responses: { 200: jsonOf(z.object({ id: z.string() }), 'It no longer counts.'), ...PROBLEMS },
})

export const tokenRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listTokens, (c) => c.json({ tokens: context.tokens.list().map(tokenView) }, 200))
    .openapi(mintToken, async (c) => {
      const wish = c.req.valid('json')
      const minted = await mint(context, requestOf(wish, context), wish.otherServers)
      return c.json({ token: minted.token, record: tokenView(minted.record) }, 201)
    })
    .openapi(revokeToken, async (c) => {
      const { id } = c.req.valid('param')
      if (!(await context.tokens.revoke(id))) throw unknownToken(id)
      // It is gone already: a log that cannot be written must not make that look undone.
      context.record({ type: 'TOKEN_REVOKED', token_id: id })
      return c.json({ id }, 200)
    })

const tokenView = ({ tools, ...record }: TokenRecord): TokenView => ({ ...record, ...(tools && { tools: [...tools] }) })

/** Where nobody names a session, the profile may. */
function requestOf(wish: z.infer<typeof mintBody>, { settings }: AdminContext): MintRequest {
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

/** A token of which there is no record is not given out. */
async function mint(context: AdminContext, request: MintRequest, others: readonly string[] = []): Promise<MintedToken> {
  const minted = await context.tokens.mint(request)
  const { id, agent, profile } = minted.record
  try {
    const event = { type: 'TOKEN_MINTED', token_id: id, agent, profile } as const
    await recordDurably(context, others.length === 0 ? event : { ...event, other_servers: others })
    return minted
  } catch (error) {
    await context.tokens.revoke(id)
    throw error
  }
}

async function recordDurably({ store, settings }: AdminContext, event: SallyportEvent): Promise<void> {
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
