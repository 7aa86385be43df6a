import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { peerProgram } from './peers.mjs'

const servers = (name) => fileURLToPath(new URL(`../servers/${name}`, import.meta.url))
export const MAIN = fileURLToPath(new URL('../../packages/gateway/dist/cli/main.js', import.meta.url))
const LOOPBACK = fileURLToPath(new URL('loopback.mjs', import.meta.url))
const BOTH = ['legacy', 'modern']
const endpoint = (port) => `http://127.0.0.1:${port}/mcp`

/**
 * What is measured, as data. `front` is how it is called and `back` how it reaches the server behind; `launch` says how
 * it is started with `{folder, port, upstreamUrl, upstreamCommand}`. A yardstick is the minimum cost of a path.
 */
export const GATEWAYS = [
  { name: 'direct-http', kind: 'direct', front: 'http', back: 'http', eras: BOTH },
  { name: 'direct-stdio', kind: 'direct', front: 'stdio', back: 'stdio', eras: BOTH },
  { ...floorHttp('pipe', 'a node:http proxy that parses nothing'), yardstick: true },
  floorHttp('pipe-undici', 'the same with undici'),
  floorHttp('json', 'parses and prints every message'),
  {
    name: 'floor-stdio-raw',
    kind: 'floor',
    front: 'http',
    back: 'stdio',
    eras: BOTH,
    note: 'passes answers on as bytes',
    yardstick: true,
    launch: ({ port, upstreamCommand }) => ({
      command: [process.execPath, servers('floor-stdio.mjs'), port, ...upstreamCommand],
      url: endpoint(port),
    }),
  },
  naive('http', ({ upstreamUrl }) => ['http', upstreamUrl]),
  naive('stdio', ({ upstreamCommand }) => ['stdio', ...upstreamCommand]),
  {
    name: 'mcp-proxy',
    kind: 'peer',
    front: 'http',
    back: 'stdio',
    eras: BOTH,
    launch: ({ port, upstreamCommand }) => ({
      command: [peerProgram('mcp-proxy'), '--port', port, '--host', '127.0.0.1', '--', ...upstreamCommand],
      url: endpoint(port),
    }),
  },
  {
    name: 'supergateway',
    kind: 'peer',
    front: 'http',
    back: 'stdio',
    eras: ['legacy'],
    note: 'stateful: one process per session',
    maxSessions: 20,
    launch: ({ port, upstreamCommand }) => ({
      command: [
        peerProgram('supergateway'),
        ...['--stdio', upstreamCommand.map((word) => JSON.stringify(word)).join(' ')],
        ...['--outputTransport', 'streamableHttp', '--stateful'],
        ...['--port', port, '--logLevel', 'none'],
      ],
      preload: LOOPBACK,
      url: endpoint(port),
    }),
  },
  ours('ours-http', 'http', 'http'),
  ours('ours-stdio', 'http', 'stdio'),
  ours('ours-window-http', 'stdio', 'http'),
  ours('ours-window-stdio', 'stdio', 'stdio'),
]

function floorHttp(mode, note) {
  return {
    name: `floor-${mode}`,
    kind: 'floor',
    front: 'http',
    back: 'http',
    eras: BOTH,
    note,
    launch: ({ port, upstreamUrl }) => ({
      command: [process.execPath, servers('floor-http.mjs'), mode, port, upstreamUrl],
      url: endpoint(port),
    }),
  }
}

function naive(back, upstreamOf) {
  return {
    name: `naive-${back}`,
    kind: 'naive',
    front: 'http',
    back,
    eras: BOTH,
    note: 'thirty lines on SDK v2',
    launch: (place) => ({
      command: [process.execPath, servers('naive-gateway.mjs'), place.port, ...upstreamOf(place)],
      url: endpoint(place.port),
    }),
  }
}

/** With a token and the log, as it is used: a window is `serve --stdio`, which passes lines to a gateway in the background. */
function ours(name, front, back) {
  return {
    name,
    kind: 'ours',
    front,
    back,
    eras: BOTH,
    launch: (place) => {
      const state = join(place.folder, 'state')
      const way = front === 'http' ? ['--port', place.port] : ['--stdio']
      return {
        command: [process.execPath, MAIN, 'serve', '--home', place.folder, '--state', state, ...way],
        // Results of 10 MB must not be shortened: passing them on is what is compared.
        config: { context: { cap: 'off' }, mcp_servers: upstreamsOf(back, place) },
        tokenFile: join(state, 'tokens', 'agent'),
        url: endpoint(place.port),
      }
    },
  }
}

function upstreamsOf(back, { upstreamUrl, upstreamCommand, upstreamCount = 1 }) {
  const [command, ...args] = upstreamCommand
  const upstream = back === 'http' ? { url: upstreamUrl } : { command, args }
  return Object.fromEntries(Array.from({ length: upstreamCount }, (_, index) => [`up${index + 1}`, upstream]))
}
