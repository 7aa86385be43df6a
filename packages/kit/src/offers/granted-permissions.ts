import {
  type Json,
  PERMISSIONS,
  type Permission,
  type PermissionDeclaration,
  readPermissions,
  SallyportError,
} from '@sallyport/core'

/** What a server lets anybody do. Absent: all. */
export function readGrantedPermissions(declared: PermissionDeclaration | undefined): readonly Permission[] {
  if (declared === undefined) return PERMISSIONS
  const granted = readPermissions(declared)
  if (granted !== undefined) return granted
  throw new SallyportError('USAGE', `The server has the permissions ${JSON.stringify(declared)}.`, {
    hint: `Expected one or more of ${PERMISSIONS.join(', ')}.`,
  })
}

/**
 * What is left of it for one caller by the `permissions` claim of the token: a list, or a text with spaces as scopes
 * are written. Without the claim all is left; one that cannot be read leaves nothing, as do words that are not known.
 */
export function narrowPermissions(granted: readonly Permission[], claim: Json | undefined): readonly Permission[] {
  if (claim === undefined) return granted
  const words = typeof claim === 'string' ? claim.split(/\s+/) : claim
  if (!Array.isArray(words)) return []
  const known = words.filter((word) => typeof word === 'string').map((word) => word.toUpperCase())
  return granted.filter((permission) => known.includes(permission))
}
