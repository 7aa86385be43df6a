export type { Form, FormAnswer } from '../form.ts'
export type { CallToolOptions, InMemoryClient, InMemoryOptions, Notification } from './connect-in-memory.ts'
export { connectInMemory } from './connect-in-memory.ts'
