export { LegacySseTransport } from './legacy-sse-transport.ts'
export { StreamableHttpTransport } from './streamable-http-transport.ts'
