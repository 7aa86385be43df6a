export { createBuiltInServer, READ_RESULT } from './built-in-server.ts'
export { InProcessTransport } from './in-process-transport.ts'
