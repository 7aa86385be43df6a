import { OpenAPIHono, z } from '@hono/zod-openapi'
import { ERRORS, type ErrorCode, type Principal, SallyportError } from '@sallyport/core'
import { OPERATOR_INTERFACES } from '../admin/operator-interfaces.ts'

/** Who asks comes with each request, from whoever judged the credential. */
export interface ApiEnv {
  readonly Bindings: { readonly principal: Principal | undefined }
}

/** The operator behind a request: nobody else gets as far as a route. */
export function requireOperator({ principal }: ApiEnv['Bindings']): Principal {
  if (principal?.role === 'operator') return principal
  throw new SallyportError('FORBIDDEN', 'The API is the operator’s alone.')
}

export const createRoutes = () => new OpenAPIHono<ApiEnv>()

const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]

export const problemSchema = z
  .object({ error: z.object({ code: z.enum(ERROR_CODES), message: z.string(), hint: z.string().optional() }) })
  .openapi('Problem')

export const jsonResponse = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
})

export const viaField = z
  .enum(OPERATOR_INTERFACES)
  .default('api')
  .openapi({ description: 'By what means, for the record.' })

/** Every route may answer with these. */
export const PROBLEM_RESPONSES = {
  '4XX': jsonResponse(
    problemSchema,
    'The request is not acceptable, not allowed, or about something that is not there.',
  ),
  '5XX': jsonResponse(problemSchema, 'The gateway or a server behind it could not answer.'),
} as const
