const MAX_LISTED = 12

/** One warning for all protections that a home asks for and this version does not provide; `undefined` if there are none. */
export function describeNotEnforced(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined
  const rest = keys.length > MAX_LISTED ? `, and ${keys.length - MAX_LISTED} more` : ''
  return `these settings are not enforced in this version yet: ${keys.slice(0, MAX_LISTED).join(', ')}${rest}.`
}
