import { createRoute, z } from '@hono/zod-openapi'
import type { AdminContext } from '../admin-context.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const mintLoginLink = createRoute({
  method: 'post',
  path: '/login-links',
  summary: 'A link that logs a browser in, once, within ten minutes',
  responses: {
    201: jsonResponse(z.object({ path: z.string() }), 'The path, to be put behind a URL of the gateway.'),
    ...PROBLEM_RESPONSES,
  },
})

export const loginLinkRoutes = ({ logins }: AdminContext) =>
  createRoutes().openapi(mintLoginLink, (c) => c.json({ path: `/login?token=${logins.mintLoginCode()}` }, 201))
