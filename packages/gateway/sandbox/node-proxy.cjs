// Loaded by --require into programs of Node inside a sandbox. Node 22.21, 24.5 and later use the proxy of the
// environment by themselves (NODE_USE_ENV_PROXY=1). In older ones this makes `fetch`, `http.request` and
// `https.request` open their connections by CONNECT through that proxy. Programs that bring a client of their own, or
// use `net.connect`, are not changed: the network is closed to them.
const [major, minor] = process.versions.node.split('.').map(Number)
const usesProxyItself = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)
const proxy = process.env.HTTP_PROXY
if (!usesProxyItself && proxy !== undefined && URL.canParse?.(proxy)) useProxy(new URL(proxy))

function useProxy({ hostname, port }) {
  const http = require('node:http')
  const https = require('node:https')
  const net = require('node:net')
  const tls = require('node:tls')

  http.globalAgent.createConnection = (options, done) => open({ ...options, secure: false }, done)
  https.globalAgent.createConnection = (options, done) => open({ ...options, secure: true }, done)

  // Node's own client for fetch is only loaded with the first request.
  const plainFetch = globalThis.fetch
  if (plainFetch !== undefined)
    globalThis.fetch = (...request) => {
      globalThis.fetch = plainFetch
      replaceDispatcher()
      return plainFetch(...request)
    }

  function replaceDispatcher() {
    const key = Symbol.for('undici.globalDispatcher.1')
    // Loads the client, which sets the dispatcher.
    void globalThis.Headers
    const Agent = globalThis[key]?.constructor
    if (Agent === undefined) return
    const connect = ({ hostname: host, port: at, protocol, servername }, done) => {
      const secure = protocol === 'https:'
      open({ host, port: at || (secure ? 443 : 80), servername, secure }, done)
    }
    globalThis[key] = new Agent({ connect })
  }

  /** A connection to a host: direct to this sandbox itself, all others through the proxy. */
  function open({ secure, ...options }, done) {
    const host = (options.host ?? options.hostname ?? 'localhost').replace(/^\[|\]$/g, '')
    const target = { ...options, host, servername: options.servername || (net.isIP(host) ? undefined : host) }
    if (host === 'localhost' || host === '127.0.0.1' || host === '::1')
      return report(secure ? tls.connect(target) : net.connect(target), secure, done)
    const path = `${host.includes(':') ? `[${host}]` : host}:${options.port}`
    const request = http.request({
      host: hostname,
      port,
      method: 'CONNECT',
      path,
      agent: false,
      headers: { host: path },
    })
    request.once('error', done)
    request.once('connect', ({ statusCode, statusMessage }, socket) => {
      if (statusCode === 200) {
        if (!secure) return done(null, socket)
        return report(tls.connect({ ...target, socket, path: undefined }), true, done)
      }
      socket.destroy()
      done(
        Object.assign(new Error(`${path} cannot be reached from this sandbox: ${statusMessage}`), { code: 'EACCES' }),
      )
    })
    request.end()
    return undefined
  }

  function report(socket, secure, done) {
    const failed = (error) => done(error)
    socket.once('error', failed)
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', failed)
      done(null, socket)
    })
  }
}
