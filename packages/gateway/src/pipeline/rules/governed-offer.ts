import { canonicalName } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import type { Call } from '../call.ts'

/** Offers that are not tools have rules under the name of their method, such as `mcp__files__resources/read`. */
const METHOD_BY_KIND = {
  prompt: 'prompts/get',
  resource: 'resources/read',
  template: 'resources/read',
  instructions: 'instructions',
} as const

/** Other methods that give access to the same data. Their own entries apply in addition to those for reading it. */
const INDIRECT_METHODS: ReadonlySet<string> = new Set(['resources/subscribe', 'completion/complete'])

/** The methods that an entry can name, besides tools: requests of clients to servers, and of servers to clients. */
export const GOVERNED_METHODS: readonly string[] = [
  ...new Set(Object.values(METHOD_BY_KIND)),
  ...INDIRECT_METHODS,
  ...['roots/list', 'elicitation/create', 'sampling/createMessage'],
]

/** The names for rules about an offer that is not a tool. Limits count under the first one. */
export function methodNames({ kind, server, name, askedBy }: Omit<Offer, 'kind'> & { readonly kind: MethodKind }) {
  const own = kind === 'question' ? name : METHOD_BY_KIND[kind]
  const methods = askedBy === undefined ? [own] : [askedBy, own]
  return methods.flatMap((tool) => [canonicalName({ server, tool }), `${server}/${tool}`])
}

type MethodKind = Exclude<Offer['kind'], 'tool'>

const indirectOffers = new WeakMap<Offer, Map<string, Offer>>()

/** The offer to which the rules apply. Subscribing to a resource has rules besides those for reading it. */
export function governedOffer({ offer, method }: Pick<Call, 'offer' | 'method'>): Offer {
  if (offer.kind === 'tool' || !INDIRECT_METHODS.has(method)) return offer
  const known = indirectOffers.get(offer) ?? new Map<string, Offer>()
  const governed = known.get(method) ?? { ...offer, askedBy: method }
  indirectOffers.set(offer, known.set(method, governed))
  return governed
}

/** A question of a server to clients as an offer, so that rules can name it: `mcp__files__sampling/createMessage`. */
export function questionOffer(server: string, method: string): Offer {
  const recordName = canonicalName({ server, tool: method })
  const original = { name: method }
  return {
    kind: 'question',
    server,
    name: method,
    wire: method,
    recordName,
    original,
    definition: original,
    isMcp: true,
  }
}
