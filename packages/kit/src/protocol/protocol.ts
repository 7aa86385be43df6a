export { type Connection, type Send, ServerConnection } from './connection.ts'
