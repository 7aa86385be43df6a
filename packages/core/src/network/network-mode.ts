import { isAtLeast, isPrivate, type Sensitivity } from '../policy/sensitivity.ts'

/** What a sandboxed server can reach: public addresses, hosts of a list, or nobody. Widest first; code depends on the order. */
export const NETWORK_MODES = ['FULL', 'PROXIED', 'NONE'] as const

export type NetworkMode = (typeof NETWORK_MODES)[number]

export const isNetworkMode = (value: unknown): value is NetworkMode => NETWORK_MODES.some((mode) => mode === value)

export const isWiderMode = (mode: NetworkMode, than: NetworkMode): boolean => rank(mode) < rank(than)

/** The widest mode in which private data of this sensitivity may be. */
export function networkModeFor(sensitivity: Sensitivity, privateFrom?: Sensitivity): NetworkMode {
  if (isAtLeast(sensitivity, 'SECRET')) return 'NONE'
  return isPrivate(sensitivity, privateFrom) ? 'PROXIED' : 'FULL'
}

// An unknown value that got past the compiler ranks as the strictest.
function rank(mode: NetworkMode): number {
  const index = NETWORK_MODES.indexOf(mode)
  return index === -1 ? NETWORK_MODES.length : index
}
