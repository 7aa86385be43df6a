export type { ArgumentsOf, InputSchema } from './input-schema.ts'
export {
  type PlainSchema,
  type ReturnValueFor,
  readForeignSchema,
  readSchema,
  type Schema,
  type SchemaChecker,
  type StandardSchema,
  type ValueOf,
} from './read-schema.ts'
