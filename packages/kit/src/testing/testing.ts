export type { Form, FormAnswer } from '../form.ts'
export { connectInMemory } from './connect-in-memory.ts'
export type { CallToolOptions, InMemoryClient, InMemoryOptions, Notification } from './in-memory-client.ts'
