export { headerText, readHeaderText } from './header-text.ts'
export { LegacySseTransport } from './legacy-sse-transport.ts'
export { StreamableHttpTransport } from './streamable-http-transport.ts'
