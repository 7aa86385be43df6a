import { createRoute, z } from '@hono/zod-openapi'
import type { TokenRecord } from '../../sessions/sessions.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { mintToken, revokeToken } from '../admin/mint-token.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const tokenSchema = z
  .object({
    id: z.string(),
    agent: z.string(),
    profile: z.string(),
    user: z.string(),
    session: z.string(),
    created: z.iso.datetime(),
    tools: z
      .array(z.string())
      .optional()
      .openapi({ description: 'Selectors that narrow the selection of its profile.' }),
    attended: z
      .literal(true)
      .optional()
      .openapi({ description: 'A person sits in front of its client, and may approve what it does.' }),
    expires: z.iso.datetime().optional(),
  })
  .openapi('Token')

export type TokenView = z.infer<typeof tokenSchema>

const mintBody = strictInput({
  agent: z.string().optional().openapi({ description: 'The agent that it is for; `any` if missing.' }),
  profile: z.string().optional().openapi({ description: '`default` if missing.' }),
  session: z.string().optional().openapi({ description: 'A new session if missing.' }),
  tools: z
    .array(z.string())
    .optional()
    .openapi({ description: 'Selectors that narrow what its profile selects; they never widen it.' }),
  attended: z
    .boolean()
    .optional()
    .openapi({ description: 'A person sits in front of its client, and may approve what it does.' }),
  otherServers: z.array(z.string().max(4_096)).max(1_000).optional().openapi({
    description: 'Sources of MCP servers that the client gets and the gateway does not govern; they are recorded.',
  }),
  ttlMs: z
    .number()
    .positive()
    .optional()
    .openapi({ description: 'If missing, the token is valid until it is revoked.' }),
})

const listRoute = createRoute({
  method: 'get',
  path: '/tokens',
  summary: 'The valid minted tokens, oldest first',
  responses: {
    200: jsonResponse(z.object({ tokens: z.array(tokenSchema) }), 'Without the tokens themselves.'),
    ...PROBLEM_RESPONSES,
  },
})

const mintRoute = createRoute({
  method: 'post',
  path: '/tokens',
  summary: 'Mint a token for an agent',
  request: { body: { required: true, content: { 'application/json': { schema: mintBody } } } },
  responses: {
    201: jsonResponse(
      z.object({ token: z.string(), record: tokenSchema }),
      'The token. It is shown only once and not stored.',
    ),
    ...PROBLEM_RESPONSES,
  },
})

const revokeRoute = createRoute({
  method: 'delete',
  path: '/tokens/{id}',
  summary: 'Revoke a token',
  request: { params: strictInput({ id: z.string() }) },
  responses: { 200: jsonResponse(z.object({ id: z.string() }), 'It is no longer valid.'), ...PROBLEM_RESPONSES },
})

export const tokenRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listRoute, (c) => c.json({ tokens: context.tokens.list().map(tokenView) }, 200))
    .openapi(mintRoute, async (c) => {
      const minted = await mintToken(context, c.req.valid('json'))
      return c.json({ token: minted.token, record: tokenView(minted.record) }, 201)
    })
    .openapi(revokeRoute, async (c) => {
      const { id } = c.req.valid('param')
      await revokeToken(context, id)
      return c.json({ id }, 200)
    })

const tokenView = ({ tools, ...record }: TokenRecord): TokenView => ({ ...record, ...(tools && { tools: [...tools] }) })
