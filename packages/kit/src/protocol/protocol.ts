export { CallerGate, readCallerToken } from './caller-gate.ts'
export { type Connection, McpConnection, type Send } from './connection.ts'
