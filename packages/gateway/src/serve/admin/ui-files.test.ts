import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { expect, it, onTestFinished } from 'vitest'
import { sendUiFile } from './ui-files.ts'

async function openUi() {
  const root = await mkdtemp(join(tmpdir(), 'sallyport-ui-'))
  const folder = join(root, 'ui')
  await mkdir(join(folder, 'assets'), { recursive: true })
  await writeFile(join(folder, 'index.html'), '<!doctype html>')
  await writeFile(join(folder, 'assets', 'index-B1a2.js'), 'start()')
  await writeFile(join(folder, 'notes.txt'), 'of no known type')
  await writeFile(join(root, 'secret.html'), 'outside')
  const server = createServer((request, response) => {
    sendUiFile(response, request.url ?? '/', { folder, isPageWanted: request.headers.accept === 'text/html' }).catch(
      (error: unknown) => {
        if (!(error instanceof SallyportError)) throw error
        response.writeHead(error.kind.http).end()
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(root, { recursive: true, force: true })
  })
  const { port } = server.address() as AddressInfo
  return (path: string, accept = '*/*') =>
    new Promise<IncomingMessage>((resolve, reject) => {
      // Unlike fetch, this leaves the dots of a path as they are.
      get({ port, host: '127.0.0.1', path, headers: { accept } }, (response) => resolve(response.resume())).once(
        'error',
        reject,
      )
    })
}

it('the page is never cached, and a file with a hash in its name always is', async () => {
  const fetchFile = await openUi()
  const page = await fetchFile('/')
  expect(page.statusCode).toBe(200)
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.headers['cache-control']).toBeUndefined()
  const script = await fetchFile('/assets/index-B1a2.js')
  expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8')
  expect(script.headers['cache-control']).toContain('immutable')
})

it.each([
  '/../secret.html',
  '/assets/../../secret.html',
  '/..%2fsecret.html',
  '/%2e%2e/secret.html',
  '//secret.html',
  '/assets/..\\..\\secret.html',
  '/index.html%00.js',
  '/notes.txt',
  '/assets',
  '/assets/',
  '/assets/nothing.js',
])('there is no file at %s', async (path) => {
  const fetchFile = await openUi()
  expect((await fetchFile(path)).statusCode).toBe(404)
  expect((await fetchFile(path, 'text/html')).statusCode).toBe(404)
})

it('the address of a screen is the page for a person who opens it, and nothing for a page that loads it', async () => {
  const fetchFile = await openUi()
  for (const path of ['/approvals', '/servers/my-server', '/governance/server%2Ftool.name']) {
    const page = await fetchFile(path, 'text/html')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect((await fetchFile(path)).statusCode).toBe(404)
  }
})
