import { OpenAPIHono, z } from '@hono/zod-openapi'
import { type AdminRole, ERRORS, type ErrorCode, hasRole, type Principal, SallyportError } from '@sallyport/core'
import { OPERATOR_INTERFACES } from '../admin/admin-context.ts'

/** The caller comes with each request, from the code that checked the credential. */
export interface ApiEnv {
  readonly Bindings: { readonly principal: Principal | undefined }
}

/** Returns the caller if it has this role or a stronger one, and throws FORBIDDEN otherwise. */
export function requireRole({ principal }: ApiEnv['Bindings'], needed: AdminRole): Principal {
  if (principal !== undefined && hasRole(principal.role, needed)) return principal
  const role = principal?.role ?? 'nobody'
  throw new SallyportError('FORBIDDEN', `This needs the role ${needed}; the caller has the role ${role}.`, {
    hint: 'Ask the operator of this gateway.',
  })
}

/** The caller. The access check has already compared its role with what the route needs. */
export const callerOf = (env: ApiEnv['Bindings']): Principal => requireRole(env, 'viewer')

export const createRoutes = () => new OpenAPIHono<ApiEnv>()

const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]

export const problemSchema = z
  .object({ error: z.object({ code: z.enum(ERROR_CODES), message: z.string(), hint: z.string().optional() }) })
  .openapi('Problem')

export const jsonResponse = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
})

/** A line of a change of a file or a definition. */
export const diffLineSchema = z
  .object({
    mark: z.enum(['-', '+', ' ', '…']).openapi({ description: '`…` stands for lines that did not change.' }),
    text: z.string(),
    line: z.number().int().optional().openapi({ description: 'Its number: of a removed line, before the change.' }),
  })
  .openapi('DiffLine')

export const viaField = z
  .enum(OPERATOR_INTERFACES)
  .default('api')
  .openapi({ description: 'The interface that was used, for the record.' })

/** Every route may answer with these. */
export const PROBLEM_RESPONSES = {
  '4XX': jsonResponse(problemSchema, 'The request is invalid, not allowed, or about something that does not exist.'),
  '5XX': jsonResponse(problemSchema, 'The gateway or a server behind it could not answer.'),
} as const
