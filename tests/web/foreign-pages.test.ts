import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../harness/browser.ts'
import { promise } from '../promises.ts'
import { findBarriers, mintLoginPath, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

/** What the gateway writes by itself: servers that start, and credentials that it refused. */
const OWN_RECORDS = /^(GATEWAY_|UPSTREAM_|TOOLS_|CREDENTIALS_REFUSED|DEFINITION_)/

/** Another program on this machine that serves a page: for cookies it is the same site as the gateway. */
async function servePage(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Foreign</title><body>')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** Each way in which a page sends something to another address. Resolves to what the page could read. */
const ATTACKS: Readonly<Record<string, (target: string) => string>> = {
  'a form': (target) => submitForm(target, 'application/x-www-form-urlencoded'),
  'a form of files': (target) => submitForm(target, 'multipart/form-data'),
  'a form of plain text': (target) => submitForm(target, 'text/plain'),
  'a request with the cookie': (target) =>
    request(target, { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' } }),
  'a request without the cookie': (target) => request(target, { method: 'POST', credentials: 'omit' }),
  'a request that needs no permission': (target) =>
    request(target, {
      method: 'POST',
      credentials: 'include',
      mode: 'no-cors',
      headers: { 'content-type': 'text/plain' },
    }),
  'a request with our header': (target) =>
    request(target, { method: 'POST', credentials: 'include', headers: { 'x-sallyport': '1' } }),
  'another method': (target) => request(target, { method: 'PUT', credentials: 'include' }),
  'reading with the cookie': (target) => request(target, { credentials: 'include' }),
  'reading without permission': (target) => request(target, { credentials: 'include', mode: 'no-cors' }),
  'a beacon': (target) => `navigator.sendBeacon(${JSON.stringify(target)}, '{"mode":"LOCKDOWN"}') && ''`,
  'a script': (target) => load('script', target),
  'a picture': (target) => load('img', target),
  'a stream of events': (target) => `new Promise((resolve) => {
    const source = new EventSource(${JSON.stringify(target)}, { withCredentials: true })
    source.onmessage = source.onopen = () => resolve('opened')
    source.onerror = () => resolve('')
  })`,
  'a socket': (target) => `new Promise((resolve) => {
    const socket = new WebSocket(${JSON.stringify(target.replace('http', 'ws'))})
    socket.onopen = () => resolve('opened')
    socket.onerror = () => resolve('')
  })`,
}

const BODY = JSON.stringify({ mode: 'LOCKDOWN', tool: 'memory/read_graph', agent: 'codex', via: 'web' })

const request = (target: string, { method = 'GET', ...options }: Record<string, unknown>): string => {
  const body = method === 'GET' ? {} : { body: BODY }
  const given = JSON.stringify({ method, ...body, ...options })
  return `fetch(${JSON.stringify(target)}, ${given}).then((answer) => answer.text()).catch(() => '')`
}

/** With `text/plain` the body can be JSON. */
const submitForm = (target: string, type: string): string => `new Promise((resolve) => {
  const frame = Object.assign(document.createElement('iframe'), { name: 'target' + Math.random() })
  const form = Object.assign(document.createElement('form'), {
    method: 'post', action: ${JSON.stringify(target)}, enctype: ${JSON.stringify(type)}, target: frame.name })
  const input = Object.assign(document.createElement('input'), {
    name: '{"mode":"LOCKDOWN","ignored":"', value: '"}' })
  form.append(input)
  document.body.append(frame, form)
  frame.addEventListener('load', () => {
    if (frame.contentDocument?.URL === 'about:blank') return
    let read = ''
    try { read = frame.contentDocument.body.textContent } catch {}
    resolve(read)
  })
  form.submit()
})`

const load = (tag: string, target: string): string => `new Promise((resolve) => {
  const element = document.createElement('${tag}')
  element.onload = () => resolve('loaded')
  element.onerror = () => resolve('')
  element.src = ${JSON.stringify(target)}
  document.body.append(element)
})`

const TARGETS = [
  ...['/panic', '/logout', '/api/mode', '/api/call', '/api/tokens', '/api/login-links', '/api/tools-file/apply'],
  ...['/api/status', '/api/events', '/api/stream', '/api/sessions/end', '/metrics', '/mcp', '/mcp/codex.default'],
]

describe('other pages in the browser of somebody who is logged in', () => {
  let bench: WebBench
  let foreign: Awaited<ReturnType<typeof servePage>>
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    bench = await openWebBench({ mcp_servers: { memory: npmServer('memory') } })
    foreign = await servePage()
    context = await bench.browser.newContext({ locale: 'en-US' })
    const own = await context.newPage()
    await own.goto(`${bench.gateway.url}${await mintLoginPath(bench.gateway)}`)
    await own.getByRole('navigation', { name: 'Work' }).waitFor()
    page = await context.newPage()
    await page.goto(foreign.url)
  })

  afterAll(async () => {
    foreign?.server.close()
    foreign?.server.closeAllConnections()
    await bench?.close()
  })

  const changes = () => bench.gateway.records().filter(({ type }) => !OWN_RECORDS.test(String(type)))

  it.each(Object.keys(ATTACKS))(`${promise('WEB-12')} read nothing and change nothing with %s`, async (name) => {
    for (const target of TARGETS) {
      const read = await page.evaluate(ATTACKS[name]?.(`${bench.gateway.url}${target}`) ?? '')
      expect({ target, read }).toEqual({ target, read: '' })
    }
    expect(changes()).toEqual([])
  })

  it(`${promise('WEB-12')} cannot show it in a frame`, async () => {
    for (const path of ['/', '/approvals', '/login', '/api/status']) {
      const opened = await context.newPage()
      await opened.goto(foreign.url)
      await opened.evaluate(
        `new Promise((resolve) => {
          const frame = document.createElement('iframe')
          frame.onload = () => resolve()
          frame.src = ${JSON.stringify(`${bench.gateway.url}${path}`)}
          document.body.append(frame)
        })`,
      )
      const framed = opened.frames().find((frame) => frame !== opened.mainFrame())
      expect({ path, text: await framed?.evaluate('document.body.innerText') }).not.toMatchObject({
        text: expect.stringContaining('Sallyport'),
      })
      expect(framed?.url()).toMatch(/^chrome-error:/)
      await opened.close()
    }
  })

  it(`${promise('WEB-12')} are still refused when their name leads to this machine (DNS rebinding)`, async () => {
    const rebound = await launchBrowser(['--host-resolver-rules=MAP rebound.example 127.0.0.1'])
    const { port } = new URL(bench.gateway.url)
    const victim = await rebound.newPage()
    const answer = await victim.goto(`http://rebound.example:${port}${await mintLoginPath(bench.gateway)}`)
    expect(answer?.status()).toBe(403)
    expect(await victim.context().cookies()).toEqual([])
    for (const path of ['/', '/api/status', '/healthz', '/mcp'])
      expect((await victim.goto(`http://rebound.example:${port}${path}`))?.status()).toBe(403)
    await rebound.close()
    expect(changes()).toEqual([])
  })

  it(`${promise('WEB-12')} a tab shows how to log in again when another one logs out`, async () => {
    const [one, other] = [await context.newPage(), await context.newPage()]
    await one.goto(`${bench.gateway.url}/servers`)
    await other.goto(`${bench.gateway.url}/live`)
    await other.getByText('following').waitFor()
    await one.getByRole('button', { name: 'Log out' }).click()
    await one.getByRole('heading', { name: 'Open this page with a login link' }).waitFor()
    await other.getByRole('heading', { name: 'Open this page with a login link' }).waitFor()
    expect(await findBarriers(other)).toEqual([])
    await shoot(other, 'login-ended')
    await one.close()
    await other.close()
  })

  it(`${promise('WEB-12')} a login ends with the gateway, and the page says so`, async () => {
    const opened = await bench.open('/servers')
    await opened.page.locator('summary').filter({ hasText: 'memory' }).waitFor()
    await bench.restart()
    await opened.page.getByRole('heading', { name: 'Open this page with a login link' }).waitFor()
    await opened.close()
  })
})
