import type { JsonObject } from '@sallyport/core'
import { ALL_CAPABILITIES, canAnswerQuestions, type QuestionScope } from './client.ts'
import type { ConnectionIdentity } from './link/link.ts'
import type { ClientCall } from './link/outgoing-call.ts'

/** What decides who shares a connection to a server. */
export interface SharingRules {
  readonly kind: 'stdio' | 'http' | 'sse'
  /** The operator wants one for each session. */
  readonly perSession: boolean
  /** It is a legacy server that asks things of its clients, and where. */
  readonly asks: QuestionScope | undefined
  readonly clientInfo: JsonObject
}

/** A connection of a server, by whom it may be used and as whom it speaks. */
export interface ConnectionSlot {
  readonly name: string
  readonly identity: ConnectionIdentity
  readonly conversation: string | undefined
  /** For one call at a time: there is nothing else by which to tell who is asked. */
  readonly isExclusive: boolean
}

/** As whom we speak where nobody in particular is behind us. */
export const sharedIdentity = (clientInfo: JsonObject): ConnectionIdentity => ({
  clientInfo,
  capabilities: ALL_CAPABILITIES,
})

/** The seat for a request; undefined where everybody shares the one connection. */
export function findSlot(
  { session, client, askStanding }: Pick<ClientCall, 'session' | 'client' | 'askStanding'>,
  rules: SharingRules,
): ConnectionSlot | undefined {
  const { kind, perSession, asks, clientInfo } = rules
  if (!asks) return perSession ? createSlot(session, sharedIdentity(clientInfo)) : undefined
  const prefix = perSession ? `${session}\n` : ''
  // Whoever cannot be asked anything need not be told apart, and the server can know it from the start.
  if (!client || !canAnswerQuestions(client)) return createSlot(`${prefix}mute`, { clientInfo, capabilities: {} })
  const { capabilities } = client
  const declared = JSON.stringify(capabilities)
  // Over HTTP a question comes on the stream of its call, where the server keeps to that. Roots are asked for at any time.
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
