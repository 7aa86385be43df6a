import type { SallyportError } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { createMcpClient, type McpClient, RetryableToolError } from './client.ts'
import { RecordingServer } from './recording-server.test-kit.ts'

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.secret-part'
const JSON_TYPE = { 'content-type': 'application/json' }
const EVENTS = { 'content-type': 'text/event-stream' }

let peer: RecordingServer
const open: McpClient[] = []

beforeEach(async () => {
  const server = createMcpServer('sample', { version: '1.0.0' })
  server.tool('echo', { description: 'Echoes', permission: READ }, () => 'echo')
  peer = await new RecordingServer(server).listen()
})

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
  await peer.close()
})

async function connect(options: Record<string, unknown> = {}): Promise<McpClient> {
  const client = await createMcpClient({ url: peer.url, bearerToken: TOKEN, ...options })
  open.push(client)
  return client
}

/** Everything that printing an error shows. */
function everything(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return [error.message, error.stack, JSON.stringify(error), everything(error.cause ?? '')].join('\n')
}

async function failure(work: Promise<unknown>): Promise<SallyportError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(Error)
  expect(everything(error)).not.toContain('secret-part')
  return error as SallyportError
}

function answerCallsWith(status: number, headers: Record<string, string>, body: () => string): void {
  peer.intercept = ({ method }, response) => {
    if (method !== 'tools/call') return false
    response.writeHead(status, headers).end(body())
    return true
  }
}

const answer = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: peer.lastId, result })
const refusal = (code: number) =>
  JSON.stringify({ jsonrpc: '2.0', id: peer.lastId, error: { code, message: `no, ${TOKEN}` } })

describe.each(['legacy', 'modern'])('in the %s era', (era) => {
  test.each([
    [401, 'UNAUTHENTICATED', false],
    [403, 'FORBIDDEN', false],
    [404, 'UPSTREAM_GONE', true],
    [429, 'UPSTREAM_UNAVAILABLE', true],
    [500, 'UPSTREAM_FAILED', false],
    [503, 'UPSTREAM_UNAVAILABLE', true],
  ])(
    'status %i is %s, and the error does not contain the token that the server echoes',
    async (status, code, retryable) => {
      const client = await connect({ era })
      answerCallsWith(status, JSON_TYPE, () => `refused: Bearer ${TOKEN}`)
      const error = await failure(client.callTool('echo'))
      expect(error).toMatchObject({ code, kind: { retryable } })
    },
  )

  test.each([
    [-32_602, 'INVALID_PARAMS'],
    [-32_601, 'METHOD_UNKNOWN'],
    [-32_603, 'UPSTREAM_FAILED'],
  ])('the error %i of the protocol is %s', async (code, ours) => {
    const client = await connect({ era })
    answerCallsWith(200, JSON_TYPE, () => refusal(code))
    expect(await failure(client.callTool('echo'))).toMatchObject({ code: ours })
  })

  test('an answer that is not a tool result is reported', async () => {
    const client = await connect({ era })
    answerCallsWith(200, JSON_TYPE, () => answer({ content: 7, resultType: 'complete' }))
    expect(await failure(client.callTool('echo'))).toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
  })

  test('an answer of another content type is reported', async () => {
    const client = await connect({ era })
    answerCallsWith(200, { 'content-type': 'text/html' }, () => '<p>hello</p>')
    expect(await failure(client.callTool('echo'))).toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
  })

  test('a stream that ends without the answer does not keep the caller waiting', async () => {
    const client = await connect({ era })
    answerCallsWith(200, EVENTS, () => ': nothing\n\n')
    expect(await failure(client.callTool('echo'))).toMatchObject({ code: 'UPSTREAM_DIED' })
    peer.intercept = () => false
    expect(await client.callTool('echo')).toBeDefined()
  })

  test('a connection that breaks in the middle does not keep the caller waiting', async () => {
    const client = await connect({ era })
    peer.intercept = ({ method }, response) => {
      if (method !== 'tools/call') return false
      response.writeHead(200, EVENTS).write(': begun\n\n', () => response.destroy())
      return true
    }
    expect(await failure(client.callTool('echo'))).toMatchObject({ code: 'UPSTREAM_DIED' })
    peer.intercept = ({ method }, response) => method === 'tools/call' && response.destroy() !== undefined
    expect(await failure(client.callTool('echo'))).toMatchObject({
      code: 'UPSTREAM_DIED',
      kind: { retryable: false },
      hint: expect.stringContaining('may have been carried out'),
    })
  })

  test('progress in one write with the answer arrives, in order', async () => {
    const client = await connect({ era })
    peer.intercept = ({ method, params }, response) => {
      if (method !== 'tools/call') return false
      const { progressToken } = params._meta
      const notices = [1, 2, 3].map((progress) =>
        JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } }),
      )
      const result = answer({ content: [], resultType: 'complete' })
      response.writeHead(200, EVENTS).end([...notices, result].map((line) => `data: ${line}\n\n`).join(''))
      return true
    }
    const received: number[] = []
    await client.callTool('echo', {}, { onProgress: ({ progress }) => received.push(progress) })
    expect(received).toEqual([1, 2, 3])
  })

  test('a token that a tool echoes into its error is not in our error', async () => {
    const client = await connect({ era })
    const content = [{ type: 'text', text: `bad header: ${TOKEN}` }]
    answerCallsWith(200, JSON_TYPE, () => answer({ content, isError: true, resultType: 'complete' }))
    expect(await failure(client.callTool('echo'))).toBeInstanceOf(RetryableToolError)
  })

  test('nor are the values of headers, neither in the message nor in the hint', async () => {
    const headers = { 'x-api-key': 'key of the secret-part', authorization: 'Bearer of-secret-part' }
    const client = await connect({ era, bearerToken: undefined, headers })
    const text = `[FATAL] bad key: ${headers['x-api-key']}, or of-secret-part`
    const _meta = { 'sallyport/error': { kind: 'fatal', next_step: `Replace ${headers.authorization}` } }
    answerCallsWith(200, JSON_TYPE, () =>
      answer({ content: [{ type: 'text', text }], _meta, isError: true, resultType: 'complete' }),
    )
    expect(await failure(client.callTool('echo'))).toMatchObject({ nextStep: 'Replace …' })
  })
})

test.each(['legacy', 'modern', 'auto'])('a silent server runs into the timeout, in the era %s', async (era) => {
  peer.intercept = () => true
  expect(await failure(connect({ era, timeoutMs: 50 }))).toMatchObject({ code: 'UPSTREAM_TIMEOUT' })
})

test('a redirect to another origin is not followed, and the token does not go there', async () => {
  const other = await new RecordingServer(createMcpServer('other', { version: '1.0.0' })).listen()
  const client = await connect({ era: 'legacy' })
  answerCallsWith(307, { location: other.url }, () => '')
  await failure(client.callTool('echo'))
  expect(other.received).toEqual([])
  await other.close()
})

test('a timeout that is too long for a timer does not fire at once', async () => {
  const client = await connect({ timeoutMs: 40 * 86_400_000 })
  expect(await client.callTool('echo')).toBeDefined()
})

test('a server that does not end its session cannot keep the client open', async () => {
  const client = await connect({ era: 'legacy' })
  peer.isSilent = true
  await client.close()
})

test('the error for an unreachable server contains its address without secrets', async () => {
  await peer.close()
  const withUser = peer.url.replace('//', '//user:secret-part@')
  expect((await failure(createMcpClient({ url: withUser }))).message).toBe('url contains credentials.')
  const error = await failure(createMcpClient({ url: `${peer.url}?key=secret-part`, bearerToken: TOKEN }))
  expect(error).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  expect(error.message).toContain('http://127.0.0.1:')
})

test('a function is called once more for a token that was refused', async () => {
  const tokens = ['stale', 'stale', 'fresh', 'fresh']
  peer.intercept = ({ authorization }, response) => {
    if (authorization !== 'Bearer stale') return false
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    return true
  }
  const client = await connect({ bearerToken: () => tokens.shift() ?? 'fresh', era: 'legacy' }).catch(() => undefined)
  expect(client).toBeUndefined()
  await connect({ bearerToken: () => tokens.shift() ?? 'fresh', era: 'legacy' })
})

test.each(['', 'two words', 'line\r\nx-admin: 1'])('refuses %j as a token', async (bearerToken) => {
  expect(await failure(createMcpClient({ url: peer.url, bearerToken }))).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(peer.received).toEqual([])
})

test('the token overrides an Authorization header of the configuration', async () => {
  await connect({ headers: { Authorization: 'Basic x', 'x-team': 'a' } })
  expect(peer.received.every(({ authorization }) => authorization === `Bearer ${TOKEN}`)).toBe(true)
})
