import { isolatedName, SallyportError, type ServerInstance, toVisibleText } from '@sallyport/core'
import { compareOnCounterpart } from '../catalog/catalog.ts'
import type { CallRoute, Counterpart } from '../upstream/upstream.ts'
import type { Call } from './call.ts'

export interface InstanceRouteOptions {
  readonly counterpart: Counterpart
  /** Whether the session of the call has private data. Once true, it must stay true. */
  readonly isPrivate: (call: Call) => boolean
}

/** Which instance of a server gets one call, decided whenever the call is about to be sent. */
export class InstanceRoute implements CallRoute {
  readonly #call: Call
  readonly #options: InstanceRouteOptions
  /** The instance that gets the call. */
  instance: ServerInstance | undefined

  constructor(call: Call, options: InstanceRouteOptions) {
    this.#call = call
    this.#options = options
  }

  get isPrivate(): boolean {
    return this.#options.isPrivate(this.#call)
  }

  get madeBy(): ServerInstance | undefined {
    return this.#call.taskMadeBy
  }

  choose(instance: ServerInstance): void {
    this.instance = instance
  }

  findRefusal(): SallyportError | undefined {
    const { offer } = this.#call
    const { catalog } = this.#options.counterpart
    if (catalog === undefined) return unknownOffers(offer.server)
    const difference = compareOnCounterpart(offer, catalog)
    if (difference === undefined) return undefined
    const name = toVisibleText(offer.name)
    const what =
      difference === 'missing' ? `does not offer ${name}` : `defines ${name} differently from what was reviewed`
    const message = `The session has private data, so its calls go to ${isolatedName(offer.server)} only, which ${what}.`
    return new SallyportError('COUNTERPART_DIFFERS', message, {
      hint: `Both instances must be the same version of the server: see \`sallyport servers ${offer.server}\`.`,
    })
  }
}

/** It connects right now, and what it offers is not compared yet. */
const unknownOffers = (server: string): SallyportError =>
  new SallyportError('UPSTREAM_STARTING', `The tools of ${isolatedName(server)} are not known yet.`, {
    hint: 'Try again in a moment.',
  })
