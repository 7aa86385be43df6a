export { StdioTransport } from './stdio-transport.ts'
