import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRequestGuard, type RequestGuardOptions } from './request-guard.ts'

const hints = { host: 'add it to the hosts.', origin: 'add it to the origins.' }

const guardOn = (port: number, more: Partial<RequestGuardOptions> = {}) =>
  createRequestGuard({ listening: [{ host: '127.0.0.1', port }], allowedHosts: [], allowedOrigins: [], hints, ...more })

const guard = guardOn(4747)
const judge = (rawHeaders: readonly string[], url = '/mcp') => guard({ rawHeaders, url })?.code

describe('the Host header', () => {
  it.each(['127.0.0.1:4747', 'localhost:4747', 'LocalHost:4747', '[::1]:4747'])('may be %s', (host) => {
    expect(judge(['Host', host])).toBeUndefined()
    expect(judge(['hOST', host])).toBeUndefined()
  })

  it.each([
    '',
    'localhost',
    '127.0.0.1',
    'localhost:80',
    'localhost:47470',
    'localhost:04747',
    'localhost:4747:4747',
    'localhost.evil:4747',
    'localhost.:4747',
    'evil.localhost:4747',
    '127.1:4747',
    '127.0.0.1.:4747',
    '127.0.0.2:4747',
    '2130706433:4747',
    '0x7f.0.0.1:4747',
    '0.0.0.0:4747',
    '::1:4747',
    '[0:0:0:0:0:0:0:1]:4747',
    '[::ffff:127.0.0.1]:4747',
    'user@localhost:4747',
    'localhost:4747@evil',
    'localhost:4747/',
    'localhost:4747, localhost:4747',
    ' localhost:4747',
    'evil.example',
    'ⅼocalhost:4747',
    '__proto__',
  ])('may not be "%s"', (host) => {
    expect(judge(['Host', host])).toBe('HOST_REFUSED')
  })

  it('must be present exactly once', () => {
    expect(judge([])).toBe('HOST_REFUSED')
    expect(judge(['Accept', 'localhost:4747'])).toBe('HOST_REFUSED')
    expect(judge(['Host', 'localhost:4747', 'host', 'localhost:4747'])).toBe('HOST_REFUSED')
    expect(judge(['Host', 'localhost:4747', 'HOST', 'evil.example'])).toBe('HOST_REFUSED')
  })

  it('is not replaced by a proxy header', () => {
    expect(judge(['Host', 'evil.example', 'X-Forwarded-Host', 'localhost:4747'])).toBe('HOST_REFUSED')
  })

  it('may omit the port only if it is 80', () => {
    const on80 = guardOn(80)
    expect(on80({ rawHeaders: ['Host', 'localhost'] })).toBeUndefined()
    expect(on80({ rawHeaders: ['Host', 'localhost:80'] })).toBeUndefined()
    expect(on80({ rawHeaders: ['Host', 'localhost:4747'] })?.code).toBe('HOST_REFUSED')
    expect(on80({ rawHeaders: ['Host', 'localhost', 'Origin', 'http://localhost'] })).toBeUndefined()
    expect(on80({ rawHeaders: ['Host', 'localhost', 'Origin', 'http://localhost:80'] })?.code).toBe('ORIGIN_REFUSED')
  })

  it('may be a configured value, complete and in any letter case, but nothing that merely begins with it', () => {
    const configured = guardOn(4747, { allowedHosts: ['Gateway.example', 'other.example:8080'] })
    const ask = (host: string) => configured({ rawHeaders: ['Host', host] })?.code
    expect(ask('gateway.EXAMPLE')).toBeUndefined()
    expect(ask('other.example:8080')).toBeUndefined()
    expect(ask('gateway.example:4747')).toBe('HOST_REFUSED')
    expect(ask('other.example')).toBe('HOST_REFUSED')
    expect(ask('gateway.example.evil')).toBe('HOST_REFUSED')
  })

  it('may be the listening address, but not the wildcard', () => {
    const listening = (host: string) => createRequestGuard({ ...none, listening: [{ host, port: 4747 }] })
    const none = { allowedHosts: [], allowedOrigins: [], hints }
    expect(listening('192.0.2.7')({ rawHeaders: ['Host', '192.0.2.7:4747'] })).toBeUndefined()
    expect(listening('2001:DB8::7')({ rawHeaders: ['Host', '[2001:db8::7]:4747'] })).toBeUndefined()
    expect(listening('0.0.0.0')({ rawHeaders: ['Host', '0.0.0.0:4747'] })?.code).toBe('HOST_REFUSED')
    expect(listening('::')({ rawHeaders: ['Host', '[::]:4747'] })?.code).toBe('HOST_REFUSED')
    expect(listening('::')({ rawHeaders: ['Host', 'localhost:4747'] })).toBeUndefined()
  })

  it('is refused for any other value', () => {
    const accepted = new Set(['127.0.0.1:4747', 'localhost:4747', '[::1]:4747'])
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webAuthority()), (host) => {
        expect(judge(['Host', host]) === undefined).toBe(accepted.has(host.toLowerCase()))
      }),
    )
  })

  it('is shown shortened and escaped in the refusal', () => {
    const error = guard({ rawHeaders: ['Host', `evil\u001b[2J${'x'.repeat(5000)}`] })
    expect(error?.message.length).toBeLessThan(200)
    expect(error?.message).not.toContain('\u001b')
    expect(error?.hint).toBe('Connect to http://127.0.0.1:4747, or add it to the hosts.')
  })
})

describe('the request target', () => {
  it.each(['/mcp', '/', '*', 'http://localhost:4747/mcp', 'HTTP://LOCALHOST:4747'])('may be %s', (url) => {
    expect(judge(['Host', 'localhost:4747'], url)).toBeUndefined()
  })

  it.each([
    'http://evil/mcp',
    'http://127.0.0.1:4747/mcp',
    'http://user@localhost:4747/mcp',
    'https://localhost:4747/mcp',
    'http:///mcp',
    'evil:443',
    '',
  ])('may not be "%s"', (url) => {
    expect(judge(['Host', 'localhost:4747'], url)).toBe('HOST_REFUSED')
  })
})

describe('the Origin header', () => {
  const withOrigin = (...origins: string[]) =>
    judge(['Host', 'localhost:4747', ...origins.flatMap((origin) => ['Origin', origin])])

  it('may be missing, since programs other than browsers send none', () => {
    expect(withOrigin()).toBeUndefined()
  })

  it.each(['http://localhost:4747', 'http://127.0.0.1:4747', 'http://[::1]:4747'])('may be %s', (origin) => {
    expect(withOrigin(origin)).toBeUndefined()
  })

  it.each([
    'null',
    '',
    'http://localhost',
    'http://localhost:4748',
    'https://localhost:4747',
    'http://localhost:4747/',
    'HTTP://localhost:4747',
    'http://localhost:4747.evil.example',
    'http://evil.example',
    'http://localhost:4747 http://evil.example',
    'localhost:4747',
    'file://',
  ])('may not be "%s"', (origin) => {
    expect(withOrigin(origin)).toBe('ORIGIN_REFUSED')
  })

  it('may be present only once', () => {
    expect(withOrigin('http://localhost:4747', 'http://localhost:4747')).toBe('ORIGIN_REFUSED')
  })

  it('may be a configured one, exactly', () => {
    const configured = guardOn(4747, { allowedHosts: ['gw.example'], allowedOrigins: ['https://gw.example'] })
    const ask = (origin: string) => configured({ rawHeaders: ['Host', 'gw.example', 'Origin', origin] })?.code
    expect(ask('https://gw.example')).toBeUndefined()
    expect(ask('http://gw.example')).toBeUndefined()
    expect(ask('https://gw.example:8443')).toBe('ORIGIN_REFUSED')
  })
})

it('refuses two Authorization headers', () => {
  expect(judge(['Host', 'localhost:4747', 'Authorization', 'a', 'authorization', 'b'])).toBe('INVALID_REQUEST')
  expect(judge(['Host', 'localhost:4747', 'Authorization', 'a'])).toBeUndefined()
})

it('sees the second Host header that node:http hides', async () => {
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const { port } = server.address() as AddressInfo
    response.end(guardOn(port)(request)?.code ?? 'served')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const send = async (head: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.end(`${head}\r\nConnection: close\r\n\r\n`)
    let answer = ''
    for await (const chunk of socket.setEncoding('latin1')) answer += chunk
    return answer.slice(answer.indexOf('\r\n\r\n') + 4)
  }
  try {
    expect(await send(`GET / HTTP/1.1\r\nHost: localhost:${port}`)).toContain('served')
    expect(await send(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\nHost: evil`)).toContain('HOST_REFUSED')
    expect(await send(`GET http://evil/ HTTP/1.1\r\nHost: localhost:${port}`)).toContain('HOST_REFUSED')
    expect(await send('GET / HTTP/1.0')).toContain('HOST_REFUSED')
  } finally {
    server.close()
  }
})
