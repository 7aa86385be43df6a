import { execFile, spawnSync } from 'node:child_process'
import { createServer as createWebServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { promisify } from 'node:util'
import { EnvHttpProxyAgent, fetch, ProxyAgent } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { installPackages } from '../../../../../tests/harness/debian-packages.ts'
import { makeSelfSigned } from '../../../../../tests/harness/self-signed.ts'
import { closeAll, listen, openBridge, openTestProxy, policy, type TestProxy } from './egress.test-kit.ts'

if (spawnSync('curl', ['-V']).error) installPackages(['curl'])
afterEach(closeAll)

interface World extends TestProxy {
  /** The URL of the proxy, as a program in a sandbox gets it. */
  readonly proxyUrl: string
  readonly plain: string
  readonly secure: string
  readonly other: string
}

/** Two web servers, one of them with TLS, and a proxy that lets nothing but `site.test` through. */
async function openWorld(): Promise<World> {
  const answer =
    (name: string): RequestListener =>
    (request, response) =>
      response.end(`${name} for ${request.headers.host}`)
  const plain = await listen(createWebServer(answer('plain')))
  const secure = await listen(createTlsServer(makeSelfSigned(), answer('secure')))
  const ports = [plain, secure]
  const proxy = await openTestProxy({
    policy: policy('PROXIED', ...ports.flatMap((port) => [`site.test:${port}`, `127.0.0.1:${port}`])),
    names: { 'site.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
  })
  return {
    ...proxy,
    proxyUrl: `http://127.0.0.1:${await openBridge(proxy.socketPath)}`,
    plain: `http://site.test:${plain}/`,
    secure: `https://site.test:${secure}/`,
    other: `https://other.test:${secure}/`,
  }
}

const run = promisify(execFile)

describe('curl', () => {
  const curl = async (world: World, ...args: readonly string[]): Promise<string> => {
    const { stdout } = await run('curl', ['-sSk', '--proxy', world.proxyUrl, ...args], { env: {} })
    return stdout
  }

  it('reaches listed hosts with HTTP, with a tunnel for HTTP, and with TLS', async () => {
    const world = await openWorld()
    expect(await curl(world, world.plain)).toBe(`plain for ${new URL(world.plain).host}`)
    expect(await curl(world, '--proxytunnel', world.plain)).toBe(`plain for ${new URL(world.plain).host}`)
    expect(await curl(world, world.secure)).toBe(`secure for ${new URL(world.secure).host}`)
    expect(await curl(world, '-d', 'x'.repeat(100_000), world.plain)).toContain('plain')
    expect(world.decisions.map(({ ok }) => ok)).toEqual([true, true, true, true])
  })

  it('does not reach other hosts', async () => {
    const world = await openWorld()
    await expect(curl(world, world.other)).rejects.toThrow(/response 403|403 from proxy/)
    expect(await curl(world, world.plain.replace('site', 'other'))).toContain('it is not on the allow list')
    expect(world.lookups).toEqual([])
  })

  it('does not reach another host by a listed one', async () => {
    const world = await openWorld()
    const { port } = new URL(world.secure)
    await expect(curl(world, '--connect-to', `other.test:${port}:site.test:${port}`, world.other)).rejects.toThrow()
    expect(await curl(world, '-H', 'Host: other.test', world.plain)).toContain('its Host header names another host')
    expect(world.decisions.filter(({ ok }) => !ok).map(({ reason }) => reason)).toEqual([
      'its TLS handshake names another host',
      'its Host header names another host',
    ])
  })
})

describe('the fetch of Node', () => {
  const TRUSTING = { rejectUnauthorized: false }

  it('reaches only listed hosts, whether it uses tunnels or not', async () => {
    const world = await openWorld()
    for (const proxyTunnel of [true, false]) {
      const dispatcher = new ProxyAgent({ uri: world.proxyUrl, requestTls: TRUSTING, proxyTunnel })
      for (const url of [world.plain, world.secure]) {
        const response = await fetch(url, { dispatcher })
        expect(await response.text()).toContain(`for ${new URL(url).host}`)
      }
      await expect(fetch(world.other, { dispatcher })).rejects.toThrow('fetch failed')
      await dispatcher.close()
    }
    expect(world.decisions.filter(({ ok }) => !ok)).toHaveLength(2)
  })

  it('reaches them with the variables of the environment', async () => {
    const world = await openWorld()
    const dispatcher = new EnvHttpProxyAgent({
      httpProxy: world.proxyUrl,
      httpsProxy: world.proxyUrl,
      requestTls: TRUSTING,
    })
    expect(await (await fetch(world.secure, { dispatcher })).text()).toContain('secure')
    await dispatcher.close()
  })

  it('carries many bytes both ways without a change', async () => {
    const port = await listen(createWebServer((request, response) => request.pipe(response)))
    const world = await openTestProxy({ policy: policy('FULL', `127.0.0.1:${port}`) })
    const dispatcher = new ProxyAgent({ uri: `http://127.0.0.1:${await openBridge(world.socketPath)}` })
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 31) % 251))
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: sent, dispatcher })
    expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), sent)).toBe(0)
    await dispatcher.close()
  })
})

const PYTHON = `
import sys, urllib.request, ssl
proxy, url = sys.argv[1:]
context = ssl._create_unverified_context()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({'http': proxy, 'https': proxy}), urllib.request.HTTPSHandler(context=context))
print(opener.open(url).read().decode())
`
const hasPython = spawnSync('python3', ['-c', 'import ssl']).status === 0

const itOfPython = hasPython ? it : () => {}
itOfPython('urllib of Python reaches only listed hosts', async () => {
  const world = await openWorld()
  for (const url of [world.plain, world.secure]) {
    const { stdout } = await run('python3', ['-c', PYTHON, world.proxyUrl, url])
    expect(stdout).toContain(`for ${new URL(url).host}`)
  }
  await expect(run('python3', ['-c', PYTHON, world.proxyUrl, world.other])).rejects.toThrow('403 Forbidden')
})
