/** The two eras of MCP, and the version by which each is spoken. */
export const PROTOCOL_VERSION = { legacy: '2025-11-25', modern: '2026-07-28' }

const CLIENT = { name: 'bench', version: '1.0.0' }
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': PROTOCOL_VERSION.modern,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const FIRST_ID = 1_000_000
const LAST_ID = 9_999_999

let lastId = FIRST_ID

/** Ids have seven digits always, so that the length of a prepared request is known. */
export function nextId() {
  lastId = lastId === LAST_ID ? FIRST_ID : lastId + 1
  return lastId
}

/** A request that is printed once and sent often: only the id is new each time. */
export function prepareRequest(era, method, params = {}) {
  const sent = era === 'modern' ? { ...params, _meta: ENVELOPE } : params
  const tail = `,"method":${JSON.stringify(method)},"params":${JSON.stringify(sent)}}`
  return { method, name: params.name, tail, length: Buffer.byteLength(printRequest(tail, FIRST_ID)) }
}

export const printRequest = (tail, id) => `{"jsonrpc":"2.0","id":${id}${tail}`

export const prepareInitialize = () =>
  prepareRequest('legacy', 'initialize', {
    protocolVersion: PROTOCOL_VERSION.legacy,
    capabilities: {},
    clientInfo: CLIENT,
  })

export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
