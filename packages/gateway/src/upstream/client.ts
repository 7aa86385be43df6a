import { type Cancellation, type Era, isJsonObject, type Json, type JsonObject, type LogLevel } from '@sallyport/core'

/** A request that a server makes of a client. */
export interface Question {
  readonly method: string
  readonly params: JsonObject
  /** The server took it back, or the call that it belongs to is over. */
  readonly cancellation: Cancellation
}

/** What the client said to it, as JSON-RPC writes it. */
export type QuestionAnswer = { readonly result: Json } | { readonly error: JsonObject }

export type AskClient = (question: Question) => Promise<QuestionAnswer>

/** A client of the gateway as the servers behind see it: what it declared, and the way to it. */
export interface Client {
  readonly era: Era
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject | undefined
  /** Names its conversation with us, and no other; a modern client has none. */
  readonly conversation: string | undefined
  /** From which level on it wants to hear log messages. Unset means all to a legacy client, none to a modern one. */
  readonly logLevel: LogLevel | undefined
  /** What a modern server is told of it with every call, printed once; one that says so itself has none. */
  readonly introduction?: string | undefined
  /** Whether a question gets its answer while the call goes on; else the call ends with the question. */
  readonly answersInCall: boolean
  ask(question: Question): Promise<QuestionAnswer>
  notify(notification: JsonObject): void
  /** The same client outside of any call; a modern one cannot be reached there. */
  readonly standing?: StandingClient | undefined
}

export interface StandingClient extends Client {
  /** Whether there is a way to it just now: over HTTP it has to keep a stream open for that. */
  readonly isReachable: boolean
}

/** Where a legacy server asks: only on the stream of the call that it is about, or just so. */
export type QuestionScope = 'in-call' | 'anywhere'

/** What a server can ask of a client, and the capability that allows it. */
const QUESTION_CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
])

/** Whether it is one of the things that a server may ask of a client at all. */
export const isQuestionMethod = (method: string): boolean => QUESTION_CAPABILITIES.has(method)

export const canAnswerQuestions = ({ capabilities }: Pick<Client, 'capabilities'>): boolean =>
  capabilities.elicitation !== undefined || capabilities.sampling !== undefined || capabilities.roots !== undefined

/** What this client would have to declare before it can be asked this; undefined when it has. */
export function findMissingCapability(
  { capabilities }: Pick<Client, 'capabilities'>,
  { method, params }: Pick<Question, 'method' | 'params'>,
): string | undefined {
  const family = QUESTION_CAPABILITIES.get(method)
  if (family === undefined) return method
  const declared = capabilities[family]
  if (!isJsonObject(declared)) return family
  // A page to open is more than a form to fill in: a client must have said that it can do that.
  const wantsPage = family === 'elicitation' && params.mode === 'url'
  return wantsPage && declared.url === undefined ? 'elicitation.url' : undefined
}

/** All that any client can be asked. A server is told so at first, so that it lists everything that it has. */
export const ALL_CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { context: {}, tools: {} },
  roots: { listChanged: true },
}
