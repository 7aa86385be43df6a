import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { MODERN_META } from '../raw-client.test-kit.ts'
import { serveStdio } from '../serve-stdio.ts'
import { getOsUser, readLocalIdentity } from './local-identity.ts'
import { getSessionId, getUserId, type Identity } from './request-scope.ts'

it('is the user of the system, with one session for the lifetime of the process', () => {
  const identity = readLocalIdentity({})
  expect(identity).toEqual({ userId: getOsUser(), sessionId: expect.stringMatching(/^stdio:/) })
  expect(readLocalIdentity({})).toEqual(identity)
})

it('is taken from the variables, which must be valid names', () => {
  const environment = { SALLYPORT_USER_ID: 'ada', SALLYPORT_SESSION_ID: 's1' }
  expect(readLocalIdentity(environment)).toEqual({ userId: 'ada', sessionId: 's1' })
  expect(() => readLocalIdentity({ SALLYPORT_USER_ID: '' })).toThrow(/SALLYPORT_USER_ID/)
  expect(() => readLocalIdentity({ SALLYPORT_SESSION_ID: 'a\nb' })).toThrow(/SALLYPORT_SESSION_ID/)
})

async function askOverStdio(environment: Record<string, string>, identity?: Identity): Promise<string> {
  const server = createMcpServer('sample', { environment })
  server.tool('me', { description: '', permission: READ }, () => `${getUserId()}/${getSessionId()}`)
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const served = serveStdio(server, { stdin, stdout, ...(identity && { identity }) })
  stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'me', _meta: MODERN_META } })}\n`,
  )
  await new Promise((answered) => stdout.once('readable', answered))
  stdin.end()
  await served
  stdout.end()
  return JSON.parse(await text(stdout)).result.content[0].text
}

it('reaches the tools that are served over stdio', async () => {
  const environment = { SALLYPORT_USER_ID: 'ada', SALLYPORT_SESSION_ID: 's1' }
  expect(await askOverStdio(environment)).toBe('ada/s1')
  expect(await askOverStdio(environment, { userId: 'bob', sessionId: 's2' })).toBe('bob/s2')
})
