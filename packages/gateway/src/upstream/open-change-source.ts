import type { ChangeSource } from './change-source.ts'
import type { Opening } from './handshake.ts'
import type { Link } from './link.ts'
import { Listening } from './listening.ts'
import { SubscribeRequests } from './subscribe-requests.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export interface ChangeSourceOptions {
  readonly link: Link
  readonly opening: Pick<Opening, 'era' | 'capabilities'>
  readonly timeouts: UpstreamConfig['timeouts']
  readonly onTrouble: (text: string) => void
  readonly onDropped: (uris: readonly string[]) => void
}

/** Listens for changes in the way of the server's era. */
export function openChangeSource({ link, opening, timeouts, onTrouble, onDropped }: ChangeSourceOptions): ChangeSource {
  return opening.era === 'legacy'
    ? new SubscribeRequests({ link, timeouts, onTrouble })
    : new Listening({ link, opening, patience: timeouts.call, onTrouble, onDropped })
}
