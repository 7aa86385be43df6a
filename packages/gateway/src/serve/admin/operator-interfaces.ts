/** The interfaces that the operator can use; recorded with each change. */
export const OPERATOR_INTERFACES = ['api', 'cli', 'web'] as const
