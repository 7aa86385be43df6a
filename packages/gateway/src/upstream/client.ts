import { type Cancellation, type Era, isJsonObject, type Json, type JsonObject, type LogLevel } from '@sallyport/core'

/** A request that a server makes of a client. */
export interface Question {
  readonly method: string
  readonly params: JsonObject
  /** What the server says to the gateway in `_meta` (`sallyport/…`); `params` do not have it any more. */
  readonly claims?: JsonObject | undefined
  /** Cancelled if the server withdrew it, or if its call is over. */
  readonly cancellation: Cancellation
}

/** The client's answer, in the form of JSON-RPC. */
export type QuestionAnswer = { readonly result: Json } | { readonly error: JsonObject }

export type AskClient = (question: Question) => Promise<QuestionAnswer>

/** A client of the gateway as the servers see it: what it declared, and how to reach it. */
export interface Client {
  readonly era: Era
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject | undefined
  /** Identifies its conversation with us; a modern client has none. */
  readonly conversation: string | undefined
  /** The minimum level of log messages that it wants. If missing, a legacy client gets all and a modern one none. */
  readonly logLevel: LogLevel | undefined
  /**
   * What a modern server gets to know about it with every call, serialized once; `undefined` for a client that sends
   * this itself.
   */
  readonly introduction?: string | undefined
  /** Whether a question can be answered while the call runs; otherwise the call ends with the question. */
  readonly answersInCall: boolean
  ask(question: Question): Promise<QuestionAnswer>
  notify(notification: JsonObject): void
  /** The same client outside of any call; a modern one cannot be reached there. */
  readonly standing?: StandingClient | undefined
}

export interface StandingClient extends Client {
  /** Whether it can be reached now: over HTTP it must keep a stream open for that. */
  readonly isReachable: boolean
}

/** Where a legacy server asks: only on the stream of the call that the question is about, or anywhere. */
export type QuestionScope = 'in-call' | 'anywhere'

/** What a server can ask of a client, and the capability that allows it. */
const QUESTION_CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
])

/** Whether a server may ask this of a client at all. */
export const isQuestionMethod = (method: string): boolean => QUESTION_CAPABILITIES.has(method)

export const canAnswerQuestions = ({ capabilities }: Pick<Client, 'capabilities'>): boolean =>
  capabilities.elicitation !== undefined || capabilities.sampling !== undefined || capabilities.roots !== undefined

/** The capability that this client lacks for this question; `undefined` if it declared it. */
export function findMissingCapability(
  { capabilities }: Pick<Client, 'capabilities'>,
  { method, params }: Pick<Question, 'method' | 'params'>,
): string | undefined {
  const family = QUESTION_CAPABILITIES.get(method)
  if (family === undefined) return method
  const declared = capabilities[family]
  if (!isJsonObject(declared)) return family
  // Opening a page needs more than filling in a form: the client must have declared that it can.
  const wantsPage = family === 'elicitation' && params.mode === 'url'
  return wantsPage && declared.url === undefined ? 'elicitation.url' : undefined
}

/**
 * Everything that a client can be asked. The first handshake declares all of it, so that the server lists everything
 * that it has.
 */
export const ALL_CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { context: {}, tools: {} },
  roots: { listChanged: true },
}

/**
 * The same text for clients of which a server can ask the same. Members that the protocol does not have are left out: a
 * client could invent any number of them.
 */
export function summarizeCapabilities(capabilities: JsonObject): string {
  return JSON.stringify(
    Object.entries(ALL_CAPABILITIES).map(([family, known]) => {
      const declared = capabilities[family]
      if (!isJsonObject(declared)) return declared !== undefined
      return [true, ...Object.keys(known as JsonObject).filter((part) => isDeclared(declared, part))]
    }),
  )
}

/** An elicitation without details means forms. */
function isDeclared(declared: JsonObject, part: string): boolean {
  if (part === 'form' && declared.url === undefined) return true
  return declared[part] !== undefined && declared[part] !== false
}

/** The same capabilities without what the protocol does not have. */
export const knownCapabilities = (capabilities: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(ALL_CAPABILITIES).flatMap(([family, known]) => {
      const declared = capabilities[family]
      if (declared === undefined) return []
      if (!isJsonObject(declared)) return [[family, {}]]
      const parts = Object.entries(known as JsonObject).filter(([part]) => isDeclared(declared, part))
      return [[family, Object.fromEntries(parts)]]
    }),
  )
