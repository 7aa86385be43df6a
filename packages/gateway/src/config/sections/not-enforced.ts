const MAX_LISTED = 12

/** One sentence about every protection that a home asks for and this version does not give, if there is any. */
export function describeNotEnforced(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined
  const rest = keys.length > MAX_LISTED ? `, and ${keys.length - MAX_LISTED} more` : ''
  return `nothing of this is enforced in this version yet: ${keys.slice(0, MAX_LISTED).join(', ')}${rest}.`
}
