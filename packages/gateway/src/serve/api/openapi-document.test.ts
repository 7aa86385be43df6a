import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OPERATOR, openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { createApi } from './api.ts'

interface Operation {
  readonly summary: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>
}

interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: object; readonly securitySchemes: object }
}

async function openDocument() {
  const { context } = await openAdminTestGateway()
  const api = createApi(context)
  const response = await api.request('/api/openapi.json', {}, { principal: OPERATOR })
  return { api, document: (await response.json()) as unknown as Document }
}

it('the document lists exactly the existing routes', async () => {
  const { api, document } = await openDocument()
  const served = new Set(
    api.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`),
  )
  const described = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb} ${path}`),
  )
  expect(described.sort()).toEqual([...served].sort())
  expect(described.length).toBeGreaterThan(12)
})

it('the document has the structure of OpenAPI 3', async () => {
  const { document } = await openDocument()
  expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Sallyport', version: '1.2.3' } })
  expect(document.components.securitySchemes).toMatchObject({
    operatorToken: { type: 'http', scheme: 'bearer' },
    loginCookie: { type: 'apiKey', in: 'cookie', name: 'sallyport' },
  })
  for (const need of document.security) {
    for (const name of Object.keys(need)) expect(document.components.securitySchemes).toHaveProperty(name)
  }
  for (const [path, verbs] of Object.entries(document.paths)) {
    for (const operation of Object.values(verbs)) {
      expect(operation.summary).toBeTruthy()
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(inPath.map(({ name }) => name)).toEqual(wanted)
      expect(inPath.every(({ required }) => required === true)).toBe(true)
      expect(Object.keys(operation.responses).filter((status) => !/^[1-5](\d\d|XX)$/.test(status))).toEqual([])
      for (const response of Object.values(operation.responses)) expect(response.description).toBeTruthy()
    }
  }
})

it('every reference in the document can be resolved', async () => {
  const { document } = await openDocument()
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)]
  expect(references.length).toBeGreaterThan(10)
  for (const [, name] of references) expect(document.components.schemas).toHaveProperty(String(name))
})

it('docs/api.md has the same routes', async () => {
  const { document } = await openDocument()
  const text = readFileSync(new URL('../../../../../docs/api.md', import.meta.url), 'utf8')
  const written = [...text.matchAll(/^\| `([A-Z]+) (\/api[^`]*)` \|/gm)].map(([, verb, path]) => `${verb} ${path}`)
  const served = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`),
  )
  expect(written.sort()).toEqual(served.sort())
})
