import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import { parseHost } from '@sallyport/core'

/** Returns the addresses of a name, in the order in which they should be tried. */
export type ResolveName = (name: string) => Promise<readonly string[]>

/** As this machine resolves names: with its hosts file, its search domains and its DNS servers. */
export const resolveBySystem: ResolveName = async (name) => {
  const found = await lookup(name, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/** A name with more addresses than these is tried at the first ones only. */
const MAX_ADDRESSES = 8
/** Node has few threads for lookups, and the whole gateway shares them. */
const MAX_LOOKUPS = 8

/** Looks up names for one sandbox: a few at a time, the others wait. */
export class NameLookup {
  readonly #resolve: ResolveName
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(resolve: ResolveName) {
    this.#resolve = resolve
  }

  /** The addresses in the form of `parseHost`. Rejects if the name does not resolve. */
  async find(name: string, isStillWanted: () => boolean): Promise<readonly string[]> {
    if (this.#running >= MAX_LOOKUPS) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      if (!isStillWanted()) return []
      const found = await this.#resolve(name)
      return found.slice(0, MAX_ADDRESSES).flatMap((address) => canonicalAddress(address) ?? [])
    } finally {
      const next = this.#waiting.shift()
      // The place is passed on, so that nobody else takes it meanwhile.
      if (next) next()
      else this.#running--
    }
  }
}

/** Addresses of this machine may be public too, but what listens there is not meant for a sandbox. */
export function listOwnAddresses(): ReadonlySet<string> {
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses)
  return new Set(own.flatMap(({ address }) => canonicalAddress(address) ?? []))
}

const canonicalAddress = (address: string): string | undefined =>
  parseHost(address.includes(':') ? `[${address}]` : address)
