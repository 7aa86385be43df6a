export { createBuiltInServer } from './built-in-server.ts'
export { InProcessTransport } from './in-process-transport.ts'
