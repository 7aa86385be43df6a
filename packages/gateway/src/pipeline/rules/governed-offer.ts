import { canonicalName } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import type { Call } from '../call.ts'

/** What is not a tool is governed as if its method were one: `mcp__files__resources/read`. */
const METHOD_BY_KIND = {
  prompt: 'prompts/get',
  resource: 'resources/read',
  template: 'resources/read',
  instructions: 'instructions',
} as const

/** Other ways to the same data. Their own entries come on top of what holds for reading it. */
const INDIRECT_METHODS: ReadonlySet<string> = new Set(['resources/subscribe', 'completion/complete'])

/** Everything but tools that an entry can be about: what clients ask of servers, and servers of clients. */
export const GOVERNED_METHODS: readonly string[] = [
  ...new Set(Object.values(METHOD_BY_KIND)),
  ...INDIRECT_METHODS,
  ...['roots/list', 'elicitation/create', 'sampling/createMessage'],
]

/** The names under which people write rules for what is not a tool; the first is the one that limits count by. */
export function methodNames({ kind, server, name, askedBy }: Omit<Offer, 'kind'> & { readonly kind: MethodKind }) {
  const own = kind === 'question' ? name : METHOD_BY_KIND[kind]
  const methods = askedBy === undefined ? [own] : [askedBy, own]
  return methods.flatMap((tool) => [canonicalName({ server, tool }), `${server}/${tool}`])
}

type MethodKind = Exclude<Offer['kind'], 'tool'>

const indirectOffers = new WeakMap<Offer, Map<string, Offer>>()

/** What a call asks for, as the rules see it: to subscribe to a resource is more than to read it. */
export function governedOffer({ offer, method }: Pick<Call, 'offer' | 'method'>): Offer {
  if (offer.kind === 'tool' || !INDIRECT_METHODS.has(method)) return offer
  const known = indirectOffers.get(offer) ?? new Map<string, Offer>()
  const governed = known.get(method) ?? { ...offer, askedBy: method }
  indirectOffers.set(offer, known.set(method, governed))
  return governed
}

/** What a server asks of clients, as a thing that rules can be about: `mcp__files__sampling/createMessage`. */
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
