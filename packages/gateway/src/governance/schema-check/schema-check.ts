import { ArgumentCheck, type ArgumentCheckOptions } from './argument-check.ts'

export type { ArgumentCheck, ArgumentCheckOptions } from './argument-check.ts'

/** Opens the check of arguments against the schemas of their tools. */
export const openArgumentCheck = (options: ArgumentCheckOptions): ArgumentCheck => new ArgumentCheck(options)
