export type { Permission, PermissionDeclaration } from '@sallyport/core'

export const READ = 'READ'
export const WRITE = 'WRITE'
export const CONNECT = 'CONNECT'
