import { ArgumentCheck, type ArgumentCheckOptions } from './argument-check.ts'

export type { ArgumentCheck, ArgumentCheckOptions } from './argument-check.ts'

/** Opens the check of arguments against the input schemas of tools. */
export const openArgumentCheck = (options: ArgumentCheckOptions): ArgumentCheck => new ArgumentCheck(options)
