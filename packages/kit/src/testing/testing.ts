export { connectInMemory } from './connect-in-memory.ts'
export type {
  CallToolOptions,
  Form,
  FormAnswer,
  InMemoryClient,
  InMemoryOptions,
  Notification,
} from './in-memory-client.ts'
