import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { looseObject } from './loose-object.ts'
import { type ApiEnv, createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const getDocument = createRoute({
  method: 'get',
  path: '/openapi.json',
  summary: 'This description',
  responses: { 200: jsonResponse(looseObject, 'OpenAPI 3.1, generated from the routes.'), ...PROBLEM_RESPONSES },
})

/** `app` is the app that these routes become part of. */
export const documentRoutes = (app: OpenAPIHono<ApiEnv>, version: string) =>
  createRoutes().openapi(getDocument, (c) => c.json(buildDocument(app, version), 200))

function buildDocument(app: OpenAPIHono<ApiEnv>, version: string): Record<string, unknown> {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Sallyport',
      version,
      description: 'The admin plane of the gateway. With the login cookie, writes need the header `x-sallyport: 1`.',
    },
    security: [{ operatorToken: [] }, { loginCookie: [] }],
  })
  const securitySchemes = {
    operatorToken: { type: 'http', scheme: 'bearer', description: 'The operator’s token.' },
    loginCookie: { type: 'apiKey', in: 'cookie', name: 'sallyport', description: 'Set by a login link.' },
  }
  return { ...document, components: { ...document.components, securitySchemes } }
}
