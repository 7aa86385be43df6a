import { BodyBudget } from '@sallyport/kit/http-intake'
import type { Catalog } from './catalog/catalog.ts'
import type { Settings } from './config/config.ts'
import type { Listings, Pipeline } from './pipeline/pipeline.ts'
import { type ChangeHub, HttpMcp, type Ids, LegacySessions, Methods } from './serve/serve.ts'
import type { AbsentServer, ConversationEvent, Fleet } from './upstream/upstream.ts'
import { VERSION } from './version.ts'

export interface ServingPartsOptions {
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly fleet: Fleet
  readonly hub: ChangeHub
  readonly ids: Ids
  readonly settings: () => Settings
  readonly findAbsentServer: (tool: string) => AbsentServer | undefined
  readonly onBug: (error: unknown, where: string) => string
  readonly onConversation: (conversation: string, notice: ConversationEvent) => void
}

/** What requests of one caller that are still coming in may weigh, unless a single one may weigh more. */
const MIN_SHARE = 32 * 1_024 * 1_024

/** What answers clients, whatever door they came by. */
export interface ServingParts {
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly httpMcp: HttpMcp
  readonly bodies: BodyBudget
}

/** Composes what answers clients. */
export function createServingParts({ settings, fleet, onConversation, ...parts }: ServingPartsOptions): ServingParts {
  const { hub } = parts
  const maxSessions = (): number => settings().gateway.maxSessions
  const methods = new Methods({
    ...parts,
    version: VERSION,
    maxListeners: maxSessions,
    waitForServers: () => fleet.waitUntilKnown(settings().gateway.startupWait),
  })
  const now = (): number => performance.now()
  const onEnd = (conversation: string): void => onConversation(conversation, 'over')
  const sessions = new LegacySessions({ hub, maxSessions, now, onEnd })
  const maxBodyBytes = (): number => settings().gateway.maxBodyBytes
  const maxBytesPerOwner = (): number => Math.max(MIN_SHARE, maxBodyBytes())
  const bodies = new BodyBudget({ maxBytesPerOwner, maxTotalBytes: () => 4 * maxBytesPerOwner() })
  const { onBug } = parts
  const httpMcp = new HttpMcp({ methods, sessions, maxBodyBytes, bodies, onConversation, onBug })
  return { methods, sessions, bodies, httpMcp }
}
