import { printTools } from './catalogue.mjs'

const INFO = '{"name":"bench-upstream","version":"1.0.0"}'
const MODERN = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":${INFO}},`
const CACHE = '"ttlMs":0,"cacheScope":"private",'
const CAPABILITIES = '"capabilities":{"tools":{"listChanged":true}}'
/** A line as logs have them, with characters that JSON escapes. */
const LINE = JSON.stringify('2026-11-15T12:00:00Z INFO request "GET /items/4711?page=2" status=200 user="alice"\n')
const ESCAPED_LINE = LINE.slice(1, -1)

/** Creates each answer once: the server behind must cost as little as possible. */
function once(make) {
  const made = new Map()
  return (key) => {
    if (!made.has(key)) made.set(key, make(key))
    return made.get(key)
  }
}

const toolsOf = once(printTools)
const blobOf = once((size) => Buffer.from(ESCAPED_LINE.repeat(Math.max(1, Math.ceil(size / ESCAPED_LINE.length)))))

/** The answer to one message as pieces to write; `undefined` for a notification. */
export function answer(message, toolCount) {
  if (message.id === undefined) return undefined
  const method = METHODS[message.method]
  const id = JSON.stringify(message.id)
  if (method === undefined) return [`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`]
  const modern = message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
  return method({
    params: message.params ?? {},
    toolCount,
    head: `{"jsonrpc":"2.0","id":${id},"result":{${modern ? MODERN : ''}`,
    cache: modern ? CACHE : '',
  })
}

const emptyList =
  (key) =>
  ({ head, cache }) => [`${head}${cache}"${key}":[]}}`]

const METHODS = {
  'tools/call': ({ head, params }) => {
    const given = params.arguments ?? {}
    if (params.name === 'blob') return [`${head}"content":[{"type":"text","text":"`, blobOf(given.size ?? 0), '"}]}}']
    return [`${head}"content":[{"type":"text","text":${JSON.stringify(String(given.text ?? ''))}}]}}`]
  },
  'tools/list': ({ head, cache, toolCount }) => [`${head}${cache}"tools":${toolsOf(toolCount)}}}`],
  initialize: ({ head, params }) => [
    `${head}"protocolVersion":${JSON.stringify(params.protocolVersion)},${CAPABILITIES},"serverInfo":${INFO}}}`,
  ],
  'server/discover': ({ head, cache }) => [
    `${head}${cache}"supportedVersions":["2026-07-28"],${CAPABILITIES},"serverInfo":${INFO}}}`,
  ],
  ping: ({ head }) => [`${head.endsWith(',') ? head.slice(0, -1) : head}}}`],
  'prompts/list': emptyList('prompts'),
  'resources/list': emptyList('resources'),
  'resources/templates/list': emptyList('resourceTemplates'),
}
