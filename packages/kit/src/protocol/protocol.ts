export { type Connection, McpConnection, type Send } from './connection.ts'
