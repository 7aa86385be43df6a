import type { HostAndPort } from './host.ts'
import { type HostRule, isListed } from './host-rules.ts'
import { findAddressKind, isAddress } from './ip-address.ts'
import type { NetworkMode } from './network-mode.ts'

/** What may leave a sandbox. */
export interface EgressPolicy {
  readonly mode: NetworkMode
  /** The hosts that PROXIED may reach. In every mode, addresses that are not public must be listed here to be reached. */
  readonly allow: readonly HostRule[]
}

export interface EgressVerdict {
  readonly ok: boolean
  readonly reason: string
}

/** What the first bytes of a client say about a connection. */
export type ConnectionOpening =
  | { readonly kind: 'TLS'; readonly serverName: string | undefined; readonly isNameEncrypted: boolean }
  | { readonly kind: 'invalid TLS' }
  | { readonly kind: 'other' }

const refuse = (reason: string): EgressVerdict => ({ ok: false, reason })

/** Decides by the name alone, so that a name which is refused is never looked up. */
export function judgeTarget({ mode, allow }: EgressPolicy, target: HostAndPort): EgressVerdict {
  const listed = isListed(allow, target)
  if (mode === 'PROXIED' && listed) return { ok: true, reason: 'it is on the allow list' }
  if (mode === 'PROXIED') return refuse('it is not on the allow list')
  // NONE, and anything that got past the compiler.
  if (mode !== 'FULL') return refuse('the network mode is NONE')
  const kind = findAddressKind(target.host)
  if (kind === undefined || kind === 'public') return { ok: true, reason: 'the network mode is FULL' }
  return listed ? { ok: true, reason: 'it is on the allow list' } : refuse(`it is not a public address (${kind})`)
}

/**
 * Decides about an address of a target that `judgeTarget` allows: the target itself, or what its name resolved to.
 * Addresses of this machine may be public, but what listens there is not meant for a sandbox.
 */
export function judgeAddress(
  { allow }: EgressPolicy,
  address: HostAndPort,
  ownAddresses: ReadonlySet<string>,
): EgressVerdict {
  const kind = findAddressKind(address.host)
  if (kind === undefined) return refuse('its address is not valid')
  if (isListed(allow, address)) return { ok: true, reason: 'the address is on the allow list' }
  if (kind !== 'public') return refuse(`its address is not public (${kind})`)
  if (ownAddresses.has(address.host)) return refuse('its address is one of this machine')
  return { ok: true, reason: 'the address is public' }
}

/** The port on which PROXIED accepts TLS only. */
const TLS_PORT = 443

/**
 * Decides by the first bytes, which must not contradict the target: a server of many hosts answers for the name in the
 * TLS handshake, not for the one that the proxy was asked for.
 */
export function judgeOpening({ mode }: EgressPolicy, target: HostAndPort, opening: ConnectionOpening): EgressVerdict {
  if (opening.kind === 'invalid TLS') return refuse('its TLS handshake cannot be read')
  const isStrict = mode !== 'FULL' && target.port === TLS_PORT
  if (opening.kind === 'other') return isStrict ? refuse('only TLS may be sent to port 443') : AGREES
  if (opening.serverName !== undefined && opening.serverName !== target.host)
    return refuse('its TLS handshake names another host')
  if (!isStrict || isAddress(target.host)) return AGREES
  if (opening.serverName === undefined) return refuse('its TLS handshake names no host (no SNI)')
  return opening.isNameEncrypted ? refuse('its TLS handshake may hide another host (encrypted ClientHello)') : AGREES
}

const AGREES: EgressVerdict = { ok: true, reason: 'the first bytes agree with the target' }
