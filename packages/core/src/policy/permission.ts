/** What a tool can do: read data, change data, use the network. */
export const PERMISSIONS = ['READ', 'WRITE', 'CONNECT'] as const

/** What a tool can do: `READ`, `WRITE` or `CONNECT`. */
export type Permission = (typeof PERMISSIONS)[number]

/** One permission, or a list of at least one. */
export type PermissionDeclaration = Permission | readonly [Permission, ...Permission[]]

/** The declared permissions in a fixed order; `undefined` if the declaration is invalid. */
export function readPermissions(declared: unknown): readonly Permission[] | undefined {
  const list: readonly unknown[] = Array.isArray(declared) ? declared : [declared]
  const known = PERMISSIONS.filter((permission) => list.includes(permission))
  const allKnown = list.every((entry) => PERMISSIONS.some((permission) => permission === entry))
  return allKnown && known.length > 0 ? known : undefined
}
