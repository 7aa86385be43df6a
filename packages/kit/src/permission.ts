export type { Permission, PermissionDeclaration } from '@sallyport/core'

/** The permission of a tool that only reads. */
export const READ = 'READ'
/** The permission of a tool that changes data. */
export const WRITE = 'WRITE'
/** The permission of a tool that reaches beyond this machine or sends data out. */
export const CONNECT = 'CONNECT'
