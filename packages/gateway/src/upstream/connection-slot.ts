import type { JsonObject } from '@sallyport/core'
import { ALL_CAPABILITIES, canAnswerQuestions, type QuestionScope } from './client.ts'
import type { ConnectionIdentity } from './link/link.ts'
import type { ClientCall } from './link/outgoing-call.ts'

/** The facts that decide who shares a connection to a server. */
export interface SharingRules {
  readonly kind: 'stdio' | 'http' | 'sse'
  /** The operator wants one for each session. */
  readonly perSession: boolean
  /** It asks questions of its clients over legacy connections, and where it asks them. */
  readonly asks: QuestionScope | undefined
  readonly clientInfo: JsonObject
  /** It was found to be modern, and may speak the legacy era as well: legacy clients get a legacy connection. */
  readonly mirrors?: boolean
}

/** A connection of a server: who may use it, and which client it represents. */
export interface ConnectionSlot {
  readonly name: string
  readonly identity: ConnectionIdentity
  readonly conversation: string | undefined
  /** For one call at a time: nothing else shows which client a question is for. */
  readonly isExclusive: boolean
  /** `legacy`: opened in the era of its clients, although the first connection is modern. */
  readonly era?: 'legacy' | undefined
}

/** The client that we present if the request belongs to no particular client. */
export const sharedIdentity = (clientInfo: JsonObject): ConnectionIdentity => ({
  clientInfo,
  capabilities: ALL_CAPABILITIES,
})

type SlotRequest = Pick<ClientCall, 'session' | 'client'> & Partial<Pick<ClientCall, 'askStanding'>>

/** The connection for a request; `undefined` if all clients share one connection. */
export function findSlot(request: SlotRequest, rules: SharingRules): ConnectionSlot | undefined {
  if (!rules.mirrors) return findSlotOfEra(request, rules, rules.asks)
  if (!needsLegacyConnection(request, rules)) return findSlotOfEra(request, rules, undefined)
  const slot = findSlotOfEra(request, rules, rules.asks) ?? createSlot('', sharedIdentity(rules.clientInfo))
  return { ...slot, name: `legacy\n${slot.name}`, era: 'legacy' }
}

/** Over a pipe it is a second process, so a client that cannot be asked anything shares the modern one. */
function needsLegacyConnection({ client }: SlotRequest, { kind }: SharingRules): boolean {
  return client?.era === 'legacy' && (kind !== 'stdio' || canAnswerQuestions(client))
}

function findSlotOfEra(
  { session, client, askStanding }: SlotRequest,
  { kind, perSession, clientInfo }: SharingRules,
  asks: QuestionScope | undefined,
): ConnectionSlot | undefined {
  if (!asks) return perSession ? createSlot(session, sharedIdentity(clientInfo)) : undefined
  const prefix = perSession ? `${session}\n` : ''
  // Clients that cannot be asked anything can share a connection, and the server can know that from the start.
  if (!client || !canAnswerQuestions(client)) return createSlot(`${prefix}mute`, { clientInfo, capabilities: {} })
  const { capabilities } = client
  const declared = JSON.stringify(capabilities)
  // Over HTTP a well-behaved server asks on the stream of the call. But it may ask for roots at any time.
  if (kind === 'http' && asks === 'in-call' && capabilities.roots === undefined)
    return createSlot(`${prefix}\n${declared}`, { clientInfo, capabilities })
  const identity = {
    clientInfo: client.clientInfo ?? clientInfo,
    capabilities,
    client: client.standing,
    ask: askStanding,
    isOneClient: true,
  }
  const { conversation } = client
  const name = `${session}\n${conversation ?? ''}\n${declared}`
  return { name, identity, conversation, isExclusive: conversation === undefined }
}

function createSlot(name: string, identity: ConnectionIdentity): ConnectionSlot {
  return { name, identity, conversation: undefined, isExclusive: false }
}
