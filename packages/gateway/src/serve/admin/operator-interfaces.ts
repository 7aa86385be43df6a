/** By what means the operator can say that something was done. */
export const OPERATOR_INTERFACES = ['api', 'cli', 'web'] as const
