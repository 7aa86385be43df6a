import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Api, ConnectorError, OpenApiConnector, readApi } from '@sallyport/kit/connectors'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { promise } from '../promises.ts'

const TOKEN = 'token-of-the-author-1234'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let server: Server
let base: string
let other: Server
let otherBase: string
const seen: Seen[] = []
let otherSeen = 0

type Route = (request: Seen, response: ServerResponse) => void

const json = (response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

const ROUTES: Record<string, Route> = {
  '/v1/echo': (request, response) => json(response, 200, request),
  '/v1/teapot': (_, response) => json(response, 418, { error: 'x'.repeat(5_000) }),
  '/v1/denied': (request, response) => json(response, 401, { got: request.headers.authorization }),
  '/v1/broken': (_, response) => json(response, 500, { error: 'database on 10.0.0.7 is down' }),
  '/v1/busy': (_, response) => json(response, 429, { error: 'slow down' }, { 'retry-after': '7' }),
  '/v1/away': (_, response) => response.writeHead(302, { location: `${otherBase}/steal` }).end(),
  '/v1/up': (_, response) => response.writeHead(302, { location: '/admin' }).end(),
  '/v1/up-encoded': (_, response) => response.writeHead(302, { location: '/v1/..%2fadmin' }).end(),
  '/v1/up-backslash': (_, response) => response.writeHead(302, { location: '/v1/..%5Cadmin' }).end(),
  '/v1/up-twice': (_, response) => response.writeHead(302, { location: '/v1/%252e%252e/admin' }).end(),
  '/v1/near': (_, response) => response.writeHead(307, { location: '/v1/echo?from=near' }).end(),
  '/v1/slashes': (request, response) =>
    response
      .writeHead(503, { 'content-type': 'application/json', 'retry-after': `${request.headers['x-api-key']}` })
      .end(JSON.stringify({ got: request.headers['x-api-key'] }).replaceAll('/', '\\/')),
  '/v1/loop': (_, response) => response.writeHead(302, { location: '/v1/loop' }).end(),
  '/v1/silent': () => undefined,
  '/v1/text': (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('plain'),
  '/v1/picture': (_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(10, 255)),
  '/v1/notjson': (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
  '/v1/flood': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const pour = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      response.once('drain', pour)
    }
    pour()
  },
}

const serve = async (handler: Route): Promise<Server> => {
  const listening = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    handler({ method: request.method, url: request.url, headers: request.headers, body }, response)
  })
  await once(listening.listen(0, '127.0.0.1'), 'listening')
  return listening
}

beforeAll(async () => {
  server = await serve((request, response) => {
    seen.push(request)
    const path = request.url?.split('?')[0] ?? ''
    ;(ROUTES[path] ?? ROUTES['/v1/echo'])?.(request, response)
  })
  other = await serve((_, response) => {
    otherSeen++
    response.end()
  })
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  otherBase = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
})

afterAll(() => {
  for (const each of [server, other]) {
    each?.closeAllConnections()
    each?.close()
  }
})

const get = (path: string, parameters: unknown[] = []) => ({ [path]: { get: { parameters } } })

const document = (paths: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  ({ openapi: '3.0.3', info: { title: 't', version: '1' }, paths, ...more }) as never

const open = (paths: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<Api> =>
  readApi({ spec: document(paths, more), baseUrl: `${base}/v1`, headers: { authorization: `Bearer ${TOKEN}` } })

const lastCall = (): Seen => seen.at(-1) as Seen

const refusal = async (work: Promise<unknown>): Promise<ConnectorError> => {
  const error = await work.then(
    (value) => expect.fail(`it was not refused: ${JSON.stringify(value)?.slice(0, 300)}`),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(ConnectorError)
  expect(`${error.message} ${error.stack} ${error.cause}`).not.toContain(TOKEN)
  return error
}

describe('what an API offers', () => {
  const PETS = {
    '/pets/{id}': {
      parameters: [{ $ref: '#/components/parameters/Id' }],
      get: { operationId: 'getPet', summary: 'One pet', responses: { 200: { description: 'A pet' } } },
      delete: { summary: 'Gone' },
    },
    '/pets': {
      post: {
        operationId: 'getPet',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
      },
    },
  }
  const COMPONENTS = {
    components: {
      parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'integer' } } },
      schemas: {
        Pet: { type: 'object', properties: { name: { type: 'string' }, child: { $ref: '#/components/schemas/Pet' } } },
      },
    },
  }

  test(`${promise('KIT-7')} is listed with the permission that each operation needs`, async () => {
    const api = await open(PETS, COMPONENTS)
    expect(api.listOperations()).toEqual([
      { id: 'getPet', method: 'get', path: '/pets/{id}', summary: 'One pet', permission: ['READ', 'CONNECT'] },
      { id: 'delete_pets_id', method: 'delete', path: '/pets/{id}', summary: 'Gone', permission: ['WRITE', 'CONNECT'] },
      { id: 'getPet_2', method: 'post', path: '/pets', summary: 'POST /pets', permission: ['WRITE', 'CONNECT'] },
    ])
  })

  test('is the same from an object, from JSON and from YAML', async () => {
    const spec = document(PETS, COMPONENTS)
    const read = async (given: string) => (await readApi({ spec: given, baseUrl: base })).listOperations()
    const expected = (await readApi({ spec, baseUrl: base })).listOperations()
    expect(await read(JSON.stringify(spec))).toEqual(expected)
    expect(await read(dump(spec))).toEqual(expected)
  })

  test('is described with one schema of its arguments, also when a schema contains itself', async () => {
    const api = await open(PETS, COMPONENTS)
    expect(api.describeOperation('getPet')).toMatchObject({
      input: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'], additionalProperties: false },
      responses: { 200: { description: 'A pet' } },
    })
    const { input } = api.describeOperation('getPet_2')
    expect(input).toMatchObject({
      properties: { body: { properties: { child: { properties: { name: { type: 'string' } } } } } },
    })
    expect(JSON.stringify(input).length).toBeLessThan(10_000)
  })

  test('becomes tools', async () => {
    const api = await open(PETS, COMPONENTS)
    const [tool] = api.tools(['getPet'])
    expect(tool).toMatchObject({ name: 'getPet', options: { description: 'One pet', permission: ['READ', 'CONNECT'] } })
    expect(await tool?.handler({ id: 7 }, { signal: new AbortController().signal })).toMatchObject({
      url: '/v1/pets/7',
    })
    expect(api.tools()).toHaveLength(3)
  })
})

describe('parameters', () => {
  const call = async (path: string, parameters: unknown[], args: Record<string, unknown>): Promise<Seen> => {
    const api = await open(get(path, parameters))
    await api.call(api.listOperations()[0]?.id ?? '', args as never)
    return lastCall()
  }
  const query = (more: Record<string, unknown> = {}) => [{ name: 'q', in: 'query', ...more }]

  test.each([
    [{}, 'a b&c=d#é', 'q=a%20b%26c%3Dd%23%C3%A9'],
    [{}, ['a', 'b,c'], 'q=a&q=b%2Cc'],
    [{ explode: false }, ['a', 'b,c'], 'q=a,b%2Cc'],
    [{ style: 'pipeDelimited', explode: false }, ['a', 'b'], 'q=a%7Cb'],
    [{ style: 'spaceDelimited', explode: false }, ['a', 'b'], 'q=a%20b'],
    [{ style: 'deepObject' }, { x: 1, 'y]': 'z' }, 'q%5Bx%5D=1&q%5By%5D%5D=z'],
    [{}, { x: 1, y: 'z' }, 'x=1&y=z'],
    [{ explode: false }, { x: 1, y: 'z' }, 'q=x,1,y,z'],
    [{ content: { 'application/json': {} } }, { x: [1] }, 'q=%7B%22x%22%3A%5B1%5D%7D'],
    [{}, '\ud800', 'q=%EF%BF%BD'],
  ])('a query parameter %j with the value %j is written as %s', async (more, value, expected) => {
    expect((await call('/echo', query(more), { q: value })).url).toBe(`/v1/echo?${expected}`)
  })

  const inPath = [{ name: 'id', in: 'path', required: true }]

  test.each([
    ['a/b', '/v1/x/a%2Fb/y'],
    ['a?b#c', '/v1/x/a%3Fb%23c/y'],
    ['%2e%2e%2', '/v1/x/%252e%252e%252/y'],
    ['a%2fb', '/v1/x/a%252fb/y'],
    ['...', '/v1/x/.../y'],
    [['a', 'b'], '/v1/x/a,b/y'],
  ])('the value %j stays inside its segment of the path', async (id, expected) => {
    expect((await call('/x/{id}/y', inPath, { id })).url).toBe(expected)
  })

  test.each([
    ...['..', '.', '', '../admin', 'a/../../b', '..\\admin', ['..'], '..;/admin', '%2e%2e', '.%2E'],
    ...['..%2fadmin', '..%5cadmin', 'a%2F..%2Fadmin', '..%252fadmin', '%25252e%25252e%25252fadmin'],
  ])('the value %j is refused in a path', async (id) => {
    const before = seen.length
    expect(await refusal(call('/x/{id}/y', inPath, { id }))).toMatchObject({ retryable: true })
    expect(seen.length).toBe(before)
  })

  test('headers and cookies contain their value and nothing else', async () => {
    const parameters = [
      { name: 'X-Tag', in: 'header' },
      { name: 'sid', in: 'cookie' },
      { name: 'Authorization', in: 'header' },
    ]
    const { headers } = await call('/echo', parameters, { 'X-Tag': ['a', 'b'], sid: 'x; admin=1' })
    expect(headers).toMatchObject({ 'x-tag': 'a,b', cookie: 'sid=x%3B%20admin%3D1', authorization: `Bearer ${TOKEN}` })
    for (const value of ['a\r\nX-Evil: 1', 'a\nb', '\0', '→'])
      expect(await refusal(call('/echo', parameters, { 'X-Tag': value }))).toMatchObject({ retryable: true })
    expect(await refusal(call('/echo', parameters, { Authorization: 'mine' }))).toMatchObject({ retryable: true })
  })

  test('what is missing or unknown is reported before anything is sent', async () => {
    const before = seen.length
    expect((await refusal(call('/echo', query({ required: true }), {}))).message).toContain('needs: q')
    expect((await refusal(call('/echo', query(), { p: 1 }))).message).toContain('takes: q')
    expect((await refusal(call('/echo', query(), JSON.parse('{"__proto__": 1}')))).message).toContain('__proto__')
    expect(seen.length).toBe(before)
  })
})

describe('bodies', () => {
  const post = (mimeType: string) => ({ '/echo': { post: { requestBody: { content: { [mimeType]: {} } } } } })

  test('are sent as JSON, as a form or as text', async () => {
    for (const [mimeType, body, expected] of [
      ['application/json', { a: [1] }, '{"a":[1]}'],
      ['application/vnd.api+json', 'x', '"x"'],
      ['application/x-www-form-urlencoded', { a: 'b c&', d: [1, 2], e: null }, 'a=b+c%26&d=1&d=2'],
      ['text/plain', 'words', 'words'],
    ] as const) {
      await (await open(post(mimeType))).call('post_echo', { body })
      expect(lastCall()).toMatchObject({ method: 'POST', body: expected, headers: { 'content-type': mimeType } })
    }
    expect(await refusal((await open(post('multipart/form-data'))).call('post_echo', { body: {} }))).toBeDefined()
  })
})

describe('where calls go', () => {
  test('an address of the document is used only below the base', async () => {
    for (const [url, expected] of [
      ['/v1/beta', '/v1/beta/echo'],
      [`${base}/v1/beta/`, '/v1/beta/echo'],
      ['https://evil.example/v1', '/v1/echo'],
      [`${base}/v2`, '/v1/echo'],
      [`${base}/v1evil`, '/v1/echo'],
      ['//evil.example', '/v1/echo'],
      ['/v1/../admin', '/v1/echo'],
      ['{scheme}://x', '/v1/echo'],
    ]) {
      await (await open(get('/echo'), { servers: [{ url }] })).call('get_echo')
      expect(lastCall().url).toBe(expected)
    }
  })

  test('a path of the document cannot leave the base', async () => {
    const before = seen.length
    const encoded = ['/..%2fadmin', '/..%5cadmin', '/x%2f..%2f..%2fadmin', '/%252e%252e%252fadmin', '/..;/admin']
    for (const path of ['/../admin', '/%2e%2e/admin', '/x/..\\..\\admin', '/.%2E/admin', ...encoded]) {
      const api = await open(get(path))
      expect(await refusal(api.call(api.listOperations()[0]?.id ?? ''))).toMatchObject({ retryable: false })
    }
    expect(seen.length).toBe(before)
    const strange = await open(get('//evil.example/x'))
    await strange.call(strange.listOperations()[0]?.id ?? '')
    expect(lastCall().url).toBe('/v1//evil.example/x')
  })

  test('redirects are followed below the base only', async () => {
    const hidden = { ...get('/up-encoded'), ...get('/up-backslash'), ...get('/up-twice') }
    const api = await open({ ...get('/away'), ...get('/up'), ...get('/near'), ...get('/loop'), ...hidden })
    for (const id of ['get_away', 'get_up', 'get_loop', 'get_up-encoded', 'get_up-backslash', 'get_up-twice'])
      expect(await refusal(api.call(id))).toMatchObject({ retryable: false })
    expect(otherSeen).toBe(0)
    expect((await api.call('get_near')).body).toMatchObject({ url: '/v1/echo?from=near' })
  })
})

describe('answers', () => {
  test('are JSON, a text, or the size of what is neither', async () => {
    const api = await open({ ...get('/text'), ...get('/picture'), ...get('/notjson') })
    expect(await api.call('get_text')).toMatchObject({ status: 200, body: 'plain', isCut: false })
    expect((await api.call('get_picture')).body).toBe('10 bytes of image/png')
    expect((await api.call('get_notjson')).body).toBe('{"a":')
  })

  test('a secret is not shown in another encoding either', async () => {
    const spec = document({ '/echo': { get: {} }, '/slashes': { get: {} } })
    const api = await readApi({ spec, baseUrl: `${base}/v1`, headers: { 'x-api-key': 'a/key"of/the author' } })
    expect(JSON.stringify(await api.call('get_echo'))).not.toContain('author')
    const { message } = await refusal(api.call('get_slashes'))
    expect(message).toContain('[hidden]')
    expect(message).not.toContain('author')
  })

  test('never show the headers that the author adds', async () => {
    const api = await open(get('/echo'))
    expect(JSON.stringify(await api.call('get_echo'))).not.toContain(TOKEN)
    expect(lastCall().headers.authorization).toBe(`Bearer ${TOKEN}`)
  })

  test('that never end are cut, and the connection is closed', async () => {
    const api = await readApi({ spec: document(get('/flood')), baseUrl: `${base}/v1`, maxBytes: 100_000 })
    const { body, isCut } = await api.call('get_flood')
    expect([String(body).length, isCut]).toEqual([100_000, true])
  })

  test('of failure say who can fix it', async () => {
    const api = await open({ ...get('/teapot'), ...get('/denied'), ...get('/broken'), ...get('/busy') })
    const teapot = await refusal(api.call('get_teapot'))
    expect([teapot.retryable, teapot.message.length < 600]).toEqual([true, true])
    expect((await refusal(api.call('get_denied'))).retryable).toBe(false)
    expect((await refusal(api.call('get_broken'))).retryable).toBe(false)
    expect(await refusal(api.call('get_busy'))).toMatchObject({
      retryable: true,
      message: expect.stringContaining('7 s'),
    })
  })

  test('that do not come time out', async () => {
    const settings = { spec: document(get('/silent')), baseUrl: `${base}/v1` }
    const slow = await readApi({ ...settings, timeoutMs: 100 })
    expect(await refusal(slow.call('get_silent'))).toMatchObject({ retryable: false })
    const control = new AbortController()
    const waiting = refusal((await readApi(settings)).call('get_silent', {}, { signal: control.signal }))
    control.abort()
    expect((await waiting).message).toContain('cancelled')
    const gone = await readApi({ ...settings, baseUrl: 'http://127.0.0.1:1' })
    expect(await refusal(gone.call('get_silent'))).toMatchObject({
      retryable: false,
      message: 'The API cannot be reached.',
    })
  })
})

describe('descriptions that are wrong or hostile', () => {
  test.each([
    ['no object', '[]'],
    ['not parseable', '{"openapi":'],
    ['YAML that is not parseable', 'openapi: [3'],
    ['an older version', '{"swagger":"2.0"}'],
    ['too long', `{"openapi":"3.0.0","x":"${'x'.repeat(17_000_000)}"}`],
    ['aliases that multiply', `a: &a [x]\nb: &b [${'*a,'.repeat(99)}]\nc: &c [${'*b,'.repeat(99)}]\nopenapi: 3.0.0`],
  ])('%s: it is refused', async (_, spec) => {
    expect(await refusal(readApi({ spec, baseUrl: base }))).toMatchObject({ retryable: false })
  })

  test('references that are circular, broken or external are handled', async () => {
    const schemas: Record<string, unknown> = {
      A: { $ref: '#/components/schemas/B' },
      B: { $ref: '#/components/schemas/A' },
    }
    for (let n = 0; n < 30; n++)
      schemas[`N${n}`] = {
        allOf: Array.from({ length: 10 }, () => ({ $ref: `#/components/schemas/N${(n + 1) % 30}` })),
      }
    const refs = [
      '#/components/schemas/A',
      '#/components/schemas/N0',
      '#/constructor',
      '#/__proto__/x',
      '#/%',
      'file:///etc/passwd',
    ]
    const parameters = refs.map(($ref, n) => ({ name: `p${n}`, in: 'query', schema: { $ref } }))
    const api = await open(get('/echo', [...parameters, { $ref: '#/nowhere' }, null, 7]), { components: { schemas } })
    const shape = api.describeOperation('get_echo')
    expect(Object.keys(shape.input.properties ?? {})).toHaveLength(refs.length)
    expect(JSON.stringify(shape).length).toBeLessThan(1_000_000)
  })

  test('ten megabytes of paths are read, and names of the prototype are only names', async () => {
    const paths: Record<string, unknown> = {}
    for (let n = 0; n < 20_000; n++) paths[`/p${n}`] = { get: { description: 'x'.repeat(480) } }
    const text = JSON.stringify(document(paths)).replace('{"/p0"', '{"__proto__":{"get":{}},"/p0"')
    const api = await readApi({ spec: text, baseUrl: base })
    expect(api.listOperations()).toHaveLength(5_000)
    expect(({} as Record<string, unknown>).get).toBeUndefined()
    expect(() => api.describeOperation('__proto__')).toThrow('no operation')
    expect(() => api.describeOperation('constructor')).toThrow('no operation')
  })

  test('a base address with a secret or a query in it is refused without repeating it', async () => {
    for (const baseUrl of ['https://user:pw-secret@x', 'https://x/?key=pw-secret', 'ftp://pw-secret', 'pw-secret'])
      await expect(readApi({ spec: document({}), baseUrl })).rejects.toThrow(/^(?!.*pw-secret)/)
  })
})

test('OpenApiConnector serves the configured APIs', async () => {
  expect(() => OpenApiConnector.listOperations('pets')).toThrow('no APIs')
  await OpenApiConnector.configure({ pets: { spec: document(get('/echo')), baseUrl: `${base}/v1`, isInternal: true } })
  expect(OpenApiConnector.listApis()).toEqual(['pets'])
  expect(OpenApiConnector.listOperations('pets')).toMatchObject([{ id: 'get_echo', permission: ['READ'] }])
  expect((await OpenApiConnector.call('pets', 'get_echo')).status).toBe(200)
  expect(() => OpenApiConnector.tools('cars')).toThrow('There are: pets')
})
