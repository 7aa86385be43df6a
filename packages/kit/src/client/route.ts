import { messageOf, SallyportError } from '@sallyport/core'
import { type Endpoint, endpointName } from './endpoint.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'
import { isSendRefused } from './link-error.ts'
import type { SessionLabel } from './session-label.ts'

export interface RouteOptions {
  readonly endpoint: Endpoint
  readonly isolated?: Endpoint | undefined
  readonly label: SessionLabel
  readonly link: Omit<LinkOptions, 'onMessage' | 'maySend'>
}

/** Chooses a server's instance: as soon as the session holds private data, the isolated one, for good. */
export class Route {
  readonly #normal: Link
  readonly #isolated: Link | undefined
  readonly #label: SessionLabel

  constructor(links: { readonly normal: Link; readonly isolated: Link | undefined }, label: SessionLabel) {
    this.#normal = links.normal
    this.#isolated = links.isolated
    this.#label = label
  }

  /** There are two instances, and from now on only the isolated one is called. */
  get isIsolated(): boolean {
    return this.#isolated !== undefined && this.#label.isPrivate
  }

  /**
   * The label may rise while the operation is about to be sent. Then the normal link refuses it before anything was
   * sent, so running it again on the isolated one repeats nothing.
   */
  async run<T>(operation: (link: Link) => Promise<T>): Promise<T> {
    await this.#label.refresh()
    if (this.#isolated === undefined) return operation(this.#normal)
    if (this.#label.isPrivate) return operation(this.#isolated)
    try {
      return await operation(this.#normal)
    } catch (error) {
      if (!isSendRefused(error)) throw error
      return operation(this.#isolated)
    }
  }

  /** Removes our tokens from a text of either server. */
  redact(text: string): string {
    return this.#normal.redact(this.#isolated?.redact(text) ?? text)
  }

  /** The isolated link is closed first. The normal one is still open then, but the route never changes back to it. */
  async close(): Promise<void> {
    await this.#isolated?.close()
    await this.#normal.close()
  }
}

/** Opens every connection that the client will ever use. If one fails, none stays open. */
export async function openRoute({ endpoint, isolated, label, link }: RouteOptions): Promise<Route> {
  const onMessage = (message: unknown): void => label.observe(message)
  const mayUseNormal = isolated === undefined ? () => true : () => !label.isPrivate
  const opening = [openLink(endpoint, { ...link, onMessage, maySend: mayUseNormal })]
  if (isolated !== undefined) opening.push(openLink(isolated, { ...link, onMessage, maySend: () => true }))
  const [normalEnd, isolatedEnd] = await Promise.allSettled(opening)
  if (normalEnd?.status === 'fulfilled' && isolatedEnd?.status !== 'rejected')
    return new Route({ normal: normalEnd.value, isolated: isolatedEnd?.value }, label)
  for (const end of [isolatedEnd, normalEnd]) if (end?.status === 'fulfilled') await end.value.close()
  if (isolated !== undefined && isolatedEnd?.status === 'rejected')
    throw createOpenError('isolated instance', isolated, isolatedEnd.reason)
  const reason = normalEnd?.status === 'rejected' ? normalEnd.reason : undefined
  throw createOpenError(isolated === undefined ? 'server' : 'normal instance', endpoint, reason)
}

function createOpenError(which: string, endpoint: Endpoint, reason: unknown): Error {
  const code = reason instanceof SallyportError ? reason.code : 'UPSTREAM_UNAVAILABLE'
  const hint = reason instanceof SallyportError ? reason.hint : undefined
  return new SallyportError(code, `Cannot connect to the ${which} (${endpointName(endpoint)}): ${messageOf(reason)}`, {
    cause: reason,
    ...(hint !== undefined && { hint }),
  })
}
