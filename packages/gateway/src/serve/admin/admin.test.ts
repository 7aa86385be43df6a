import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AdminTestGateway, type AskOptions, logIn, OPERATOR, openAdminTestGateway } from './admin.test-kit.ts'
import { createAdmin } from './admin.ts'
import { UI_FOLDER } from './ui-files.ts'

const answerPlainly = async (_request: IncomingMessage, response: ServerResponse): Promise<void> =>
  void response.end('ok')

const browser = (cookie: string, admin: AdminTestGateway): AskOptions => ({
  headers: { cookie, origin: admin.origin, 'x-sallyport': '1' },
})

describe('the admin plane without a credential', () => {
  it('answers the API with 401 and how to authenticate', async () => {
    const { ask } = await openAdminTestGateway()
    for (const path of ['/api', '/api/status', '/api/nothing', '/api/openapi.json']) {
      const { status, headers, body } = await ask(path)
      expect({ path, status, code: body.error.code }).toEqual({ path, status: 401, code: 'UNAUTHENTICATED' })
      expect(headers['www-authenticate']).toBe('Bearer')
    }
  })

  it('shows the login page, which says what to run, on every other path', async () => {
    const { ask } = await openAdminTestGateway()
    for (const path of ['/', '/index.html', '/assets/x.js', '/metrics', '/login', '/login?token=']) {
      const { status, text } = await ask(path)
      expect({ path, status }).toEqual({ path, status: 401 })
      expect(text).toContain('sallyport ui')
    }
  })

  it('refuses a write outside the API too', async () => {
    const { ask } = await openAdminTestGateway()
    expect((await ask('/logout', { method: 'POST' })).status).toBe(401)
  })

  it('refuses a cookie that was never issued', async () => {
    const { ask } = await openAdminTestGateway()
    const cookie = `sallyport=${'A'.repeat(43)}`
    expect((await ask('/api/status', { headers: { cookie } })).status).toBe(401)
  })
})

it('tries to load the API again at the next request if loading failed', async () => {
  const { context } = await openAdminTestGateway()
  let loads = 0
  const admin = createAdmin(context, async () => {
    if (++loads === 1) throw new Error('too many open files')
    return answerPlainly
  })
  const server = createServer((request, response) => {
    admin(request, response, OPERATOR).catch((error: Error) => response.writeHead(500).end(error.message))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/status`
  const ask = async (): Promise<string> => (await fetch(url)).text()
  expect([await ask(), await ask(), await ask()]).toEqual(['too many open files', 'ok', 'ok'])
  expect(loads).toBe(2)
})

it('refuses an agent’s token on every path, even with a valid cookie', async () => {
  const admin = await openAdminTestGateway()
  const cookie = await logIn(admin)
  const authorization = `Bearer ${admin.agentToken}`
  for (const path of ['/', '/api/status', '/api/tokens', '/login?token=x', '/assets/x.js']) {
    for (const headers of [{ authorization }, { authorization, cookie }]) {
      const { status, body } = await admin.ask(path, { headers })
      expect({ path, status, code: body.error.code }).toEqual({ path, status: 403, code: 'FORBIDDEN' })
    }
  }
})

it('still requires a credential if /mcp does not', async () => {
  const { ask } = await openAdminTestGateway('none')
  expect((await ask('/api/status')).status).toBe(401)
  expect((await ask('/')).status).toBe(401)
  expect((await ask('/api/status', { headers: { authorization: 'Bearer anything' } })).status).toBeGreaterThan(400)
})

it('accepts the operator’s token without a browser’s headers', async () => {
  const { api } = await openAdminTestGateway()
  expect((await api('/api/status')).status).toBe(200)
  expect((await api('/api/login-links', { method: 'POST' })).status).toBe(201)
})

describe('a login link', () => {
  it('sets a cookie that scripts and other sites cannot use, and redirects to the UI', async () => {
    const { gateway, ask } = await openAdminTestGateway()
    const { status, headers } = await ask(`/login?token=${gateway.logins.mintLoginCode()}`)
    expect(status).toBe(303)
    expect(headers.location).toBe('/')
    expect(headers['set-cookie']?.[0]).toMatch(/^sallyport=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/)
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['referrer-policy']).toBe('no-referrer')
  })

  it('works only once', async () => {
    const { gateway, ask } = await openAdminTestGateway()
    const path = `/login?token=${gateway.logins.mintLoginCode()}`
    expect((await ask(path)).status).toBe(303)
    const again = await ask(path)
    expect(again.status).toBe(401)
    expect(again.headers['set-cookie']).toBeUndefined()
    expect(again.text).toContain('sallyport ui')
  })

  it('is not used up by a HEAD request', async () => {
    const { gateway, ask } = await openAdminTestGateway()
    const path = `/login?token=${gateway.logins.mintLoginCode()}`
    expect((await ask(path, { method: 'HEAD' })).status).toBe(401)
    expect((await ask(path)).status).toBe(303)
  })

  it('cannot be posted', async () => {
    const { gateway, ask } = await openAdminTestGateway()
    const { status, headers } = await ask(`/login?token=${gateway.logins.mintLoginCode()}`, { method: 'POST' })
    expect(status).toBe(405)
    expect(headers.allow).toBe('GET, HEAD')
  })
})

describe('the login cookie', () => {
  it('is enough for reading', async () => {
    const admin = await openAdminTestGateway()
    const cookie = await logIn(admin)
    expect((await admin.ask('/api/status', { headers: { cookie } })).status).toBe(200)
  })

  it.each([
    ['the custom header', { 'x-sallyport': undefined }],
    ['the right value of the custom header', { 'x-sallyport': 'true' }],
    ['an Origin', { origin: undefined }],
  ])('does not allow a write without %s', async (_what, change) => {
    const admin = await openAdminTestGateway()
    const cookie = await logIn(admin)
    const merged = { ...browser(cookie, admin).headers, ...change } as Record<string, string | undefined>
    const headers = Object.fromEntries(
      Object.entries(merged).flatMap(([name, value]) => (value ? [[name, value]] : [])),
    )
    for (const [method, path] of [
      ['POST', '/api/login-links'],
      ['DELETE', '/api/tokens/0123456789abcdef'],
      ['POST', '/logout'],
    ] as const) {
      const { status, body } = await admin.ask(path, { method, headers })
      expect({ path, status, code: body.error.code }).toEqual({ path, status: 403, code: 'FORBIDDEN' })
    }
    expect((await admin.ask('/api/status', { headers: { cookie } })).status).toBe(200)
  })

  it('allows a write with the header and our own Origin, but not from another origin', async () => {
    const admin = await openAdminTestGateway()
    const own = browser(await logIn(admin), admin)
    expect((await admin.ask('/api/login-links', { ...own, method: 'POST' })).status).toBe(201)
    const foreign = { ...own, headers: { ...own.headers, origin: 'http://localhost:1' } } as AskOptions
    expect((await admin.ask('/api/login-links', { ...foreign, method: 'POST' })).status).toBe(403)
  })

  it('does not work for a page on another port of the same host', async () => {
    const admin = await openAdminTestGateway()
    const cookie = await logIn(admin)
    const ask = (headers: Record<string, string>) => admin.ask('/api/events', { headers: { cookie, ...headers } })
    expect((await ask({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' })).status).toBe(403)
    expect((await ask({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' })).status).toBe(403)
    expect((await ask({ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' })).status).toBe(200)
    expect((await ask({ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' })).status).toBe(200)
  })

  it('is no longer valid after the logout', async () => {
    const admin = await openAdminTestGateway()
    const own = browser(await logIn(admin), admin)
    const { status, headers } = await admin.ask('/logout', { ...own, method: 'POST' })
    expect(status).toBe(204)
    expect(headers['set-cookie']?.[0]).toContain('Max-Age=0')
    expect((await admin.ask('/api/status', own)).status).toBe(401)
  })
})

it('sends the same security headers with every answer', async () => {
  const admin = await openAdminTestGateway()
  const token = { headers: { authorization: `Bearer ${admin.operatorToken}` } }
  const answers = await Promise.all([
    admin.ask('/'),
    admin.ask('/api/status'),
    admin.ask('/api/status', token),
    admin.ask('/api/nothing', token),
    admin.ask('/nothing', token),
    admin.ask(`/login?token=${admin.gateway.logins.mintLoginCode()}`),
    admin.ask('/api/status', { headers: { authorization: `Bearer ${admin.agentToken}` } }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 200, 404, 404, 303, 403])
  const [login, ...others] = answers
  // The login page allows its own style by its hash, and no script at all.
  expect(login?.headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
  )
  for (const { headers } of others) {
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    )
  }
  for (const { headers } of answers) {
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['referrer-policy']).toBe('no-referrer')
    expect(headers['cross-origin-resource-policy']).toBe('same-origin')
    expect(headers['access-control-allow-origin']).toBeUndefined()
  }
})

it.skipIf(!existsSync(join(UI_FOLDER, 'index.html')))(
  'serves a UI that works with its own content security policy',
  async () => {
    const admin = await openAdminTestGateway()
    const cookie = await logIn(admin)
    const page = await admin.ask('/', { headers: { cookie } })
    expect(page.status).toBe(200)
    expect(page.text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/i)
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => String(path))
    expect(files.length).toBeGreaterThanOrEqual(3)
    for (const path of files) {
      expect({ path, status: (await admin.ask(path, { headers: { cookie } })).status }).toEqual({ path, status: 200 })
      expect({ path, status: (await admin.ask(path)).status }).toEqual({ path, status: 401 })
    }
  },
)
