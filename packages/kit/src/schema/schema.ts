export type { ArgumentsOf, InputSchema } from './input-schema.ts'
export {
  type CheckedSchema,
  type PlainSchema,
  type ReturnedFor,
  readForeignSchema,
  readSchema,
  type Schema,
  type ValueOf,
} from './read-schema.ts'
export type { StandardSchema } from './standard-schema.ts'
