export type { Form, FormAnswer } from '../form.ts'
export {
  type CallToolOptions,
  connectInMemory,
  type InMemoryClient,
  type InMemoryOptions,
  type Notification,
} from './connect-in-memory.ts'
