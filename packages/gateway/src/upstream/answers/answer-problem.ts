import {
  type Era,
  excerpt,
  findInvalidMember,
  isJsonObject,
  type JsonObject,
  RESULT_SHAPE,
  sanitizeCompletion,
} from '@sallyport/core'
import type { OutgoingCall } from '../link/outgoing-call.ts'
import type { Frame } from '../transport.ts'
import { isUnrepairable } from './clean-answer.ts'
import { appliesTo } from './item-repair.ts'
import { sliceBytes } from './splice.ts'

const OPEN_OBJECT = 0x7b
const MAX_QUOTE_LENGTH = 200
/** Allows at most a hundred values. */
const MAX_COMPLETION_BYTES = 1_000_000
/** Recursive readers would overflow the stack on deeper values. */
const MAX_DEPTH = 1_000

const INPUT_REQUIRED = 'input_required'
/** The methods for which a server may ask for more input. */
const INPUT_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** The members that a complete result must have. A missing `content` is added as an empty list. */
const REQUIRED_MEMBERS: ReadonlyMap<string, { readonly bit: number; readonly member: string }> = new Map([
  ['prompts/get', { bit: RESULT_SHAPE.messages, member: 'messages' }],
  ['resources/read', { bit: RESULT_SHAPE.contents, member: 'contents' }],
  ['completion/complete', { bit: RESULT_SHAPE.completion, member: 'completion' }],
])

/** The facts that decide whether an answer is acceptable. */
export interface AnswerContext {
  readonly request: OutgoingCall
  readonly era: Era
  /** The capabilities that the server declared. */
  readonly capabilities: JsonObject
}

/**
 * Why a client must not get an answer: it could not read it, or it would do something that the protocol does not allow.
 * `undefined` if the answer is fine.
 */
export function findAnswerProblem(frame: Frame, context: AnswerContext): string | undefined {
  const { result, depth, shape, isVersion2 } = frame.envelope
  if (!isVersion2) return 'The server answered with a message whose "jsonrpc" is not "2.0".'
  if (depth > MAX_DEPTH) return `The server's answer is nested deeper than ${MAX_DEPTH} levels.`
  if ((shape & RESULT_SHAPE.overfull) !== 0) return "The server's answer has more errors than are repaired."
  const invalid = findInvalidMember(shape)
  if (invalid !== undefined) return `The server answered with an invalid "${invalid}".`
  return result ? findResultProblem(frame, result.start, context) : findErrorProblem(frame)
}

function findResultProblem({ envelope, parts }: Frame, start: number, context: AnswerContext): string | undefined {
  if (byteAt(parts, start) !== OPEN_OBJECT) return 'The server answered with a result that is not an object.'
  const { shape, resultType } = envelope
  if (resultType !== undefined && resultType !== 'complete') return findResultTypeProblem(resultType, shape, context)
  const { method } = context.request
  const required = REQUIRED_MEMBERS.get(method)
  if (required !== undefined && (shape & required.bit) === 0)
    return `The server answered with a result without "${required.member}".`
  if (isUnrepairable(envelope, { method, era: context.era }))
    return 'The server answered with a result of more members than are read.'
  return (
    findItemProblem(envelope, method) ??
    (method === 'completion/complete' ? findCompletionProblem(envelope, parts) : undefined)
  )
}

/** Contents of a resource are data: a placeholder of ours could be mistaken for them. So nothing is replaced there. */
function findItemProblem({ itemProblems }: Frame['envelope'], method: string): string | undefined {
  const refused = itemProblems?.find((problem) => problem.action === 'refuse' && appliesTo(problem, method))
  return refused && `The server answered with an invalid ${refused.path}: ${refused.requirement}.`
}

function findCompletionProblem({ resultMembers }: Frame['envelope'], parts: readonly Buffer[]): string | undefined {
  for (const { key, value, end } of resultMembers ?? []) {
    if (key !== 'completion') continue
    if (end - value > MAX_COMPLETION_BYTES) return `The server answered with more than ${MAX_COMPLETION_BYTES} bytes.`
    if (sanitizeCompletion(JSON.parse(sliceBytes(parts, value, end).toString('utf8'))) === undefined)
      return 'The server answered with an invalid "completion": "values" must be a list.'
  }
  return undefined
}

function findResultTypeProblem(
  resultType: string,
  shape: number,
  { request, era, capabilities }: AnswerContext,
): string | undefined {
  const shown = JSON.stringify(excerpt(resultType, MAX_QUOTE_LENGTH))
  if (era === 'legacy')
    return `The server answered with the resultType ${shown}, which its protocol version does not have.`
  const declared = request.client?.capabilities ?? {}
  if (resultType === INPUT_REQUIRED) {
    if (!INPUT_METHODS.has(request.method)) return `The server asked for input for ${request.method}, which takes none.`
    const asks = (shape & (RESULT_SHAPE.inputRequests | RESULT_SHAPE.requestState)) !== 0
    return asks ? undefined : 'The server asked for input and did not say which.'
  }
  const isKnown = resultType === 'task' ? sharesTasks(declared, capabilities) : sharesExtension(declared, capabilities)
  return isKnown ? undefined : `The server answered with the resultType ${shown}, which was not agreed on.`
}

function findErrorProblem({ envelope: { error }, parts }: Frame): string | undefined {
  const text = Buffer.concat(parts).toString('utf8', error?.start, error?.end)
  const { code, message } = readObject(text)
  if (Number.isInteger(code) && typeof message === 'string') return undefined
  return `The server answered with an error without a code or a message: ${excerpt(text, MAX_QUOTE_LENGTH)}`
}

function readObject(text: string): { readonly code?: unknown; readonly message?: unknown } {
  const value: unknown = JSON.parse(text)
  return isJsonObject(value) ? value : {}
}

function byteAt(parts: readonly Buffer[], at: number): number | undefined {
  let offset = at
  for (const part of parts) {
    if (offset < part.length) return part[offset]
    offset -= part.length
  }
  return undefined
}

/** The extensions whose messages we know. An unknown extension proves nothing about an unknown message. */
const TASKS = 'io.modelcontextprotocol/tasks'
const KNOWN_EXTENSIONS: ReadonlyMap<string, RegExp> = new Map([
  [TASKS, /^notifications\/tasks(\/|$)/],
  ['io.modelcontextprotocol/ui', /^notifications\/ui\//],
])

/** Whether both sides declared tasks, in either era's way. */
function sharesTasks(client: JsonObject, server: JsonObject): boolean {
  return extensionNames(client).has(TASKS) && extensionNames(server).has(TASKS)
}

/** Whether both sides declared an extension whose messages we do not know. */
function sharesExtension(client: JsonObject, server: JsonObject): boolean {
  const declared = extensionNames(client)
  for (const name of extensionNames(server)) if (declared.has(name) && !KNOWN_EXTENSIONS.has(name)) return true
  return false
}

/** Whether a notification beyond the protocol's own was agreed on. */
export function mayNotify(method: string, client: JsonObject, server: JsonObject): boolean {
  const declared = extensionNames(client)
  const offered = extensionNames(server)
  for (const [name, methods] of KNOWN_EXTENSIONS)
    if (methods.test(method)) {
      // A legacy client declares only the tasks that it runs itself, but it also gets notifications about those that it
      // asked for.
      const isLegacyTask = name === TASKS && server.tasks !== undefined
      return isLegacyTask || (declared.has(name) && offered.has(name))
    }
  return sharesExtension(client, server)
}

/** Earlier versions of the protocol put into `experimental` what later became extensions. */
function extensionNames({ extensions, experimental }: JsonObject): ReadonlySet<string> {
  const names = [extensions, experimental].flatMap((group) => (isJsonObject(group) ? Object.keys(group) : []))
  return new Set(names)
}
