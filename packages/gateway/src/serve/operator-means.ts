/** By what means the operator can say that something was done. */
export const OPERATOR_MEANS = ['api', 'cli', 'web'] as const
