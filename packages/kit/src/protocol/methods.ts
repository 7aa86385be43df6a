import { type Era, isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { type CacheScope, MODERN_VERSIONS } from '../era.ts'
import {
  type Answer,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  RESOURCE_NOT_FOUND,
  refuse,
} from '../json-rpc.ts'
import {
  complete,
  createCheckedResult,
  createPromptResult,
  createResourceContents,
  type Definitions,
  type ListKind,
  readPromptArguments,
  type Tool,
} from '../offers/offers.ts'
import { currentShelf, shapeToolResult } from '../results/results.ts'
import { describeToolError, isA, type ToolFailure, ToolRetryError, UnaskableError } from '../tool-error.ts'
import { createErrorResult, createToolResult, type ToolResult } from '../tool-result.ts'
import { assertMayReachOut, guardAnswers, openRelease, reachesOut } from './label-steps.ts'

/** One request, with all that its answer depends on. */
export interface MethodCall {
  readonly definitions: Definitions
  readonly era: Era
  readonly params: JsonObject
  readonly context: CallContext
}

export interface Method {
  readonly answer: (call: MethodCall) => Answer | Promise<Answer>
  /** Undefined: both eras have it. */
  readonly era?: Era
  /** A method of a list that the server does not offer is unknown. */
  readonly of?: ListKind
  readonly cacheScope?: CacheScope
  /** Its handler may ask the client something. */
  readonly asks?: true
}

/** The requests that need nothing of the connection they came on. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['ping', { era: 'legacy', answer: () => ({ result: {} }) }],
  // It carries the label of the calling session, so that no cache may share it.
  ['server/discover', { era: 'modern', cacheScope: 'private', answer: discover }],
  // What a caller's token grants decides which tools there are.
  ['tools/list', { of: 'tools', cacheScope: 'private', answer: (call) => list(call, 'tools') }],
  ['tools/call', { of: 'tools', asks: true, answer: callTool }],
  ['resources/list', { of: 'resources', cacheScope: 'public', answer: (call) => list(call, 'resources') }],
  ['resources/templates/list', { of: 'resources', cacheScope: 'public', answer: (call) => list(call, 'templates') }],
  ['resources/read', { of: 'resources', cacheScope: 'private', asks: true, answer: readResource }],
  ['prompts/list', { of: 'prompts', cacheScope: 'public', answer: (call) => list(call, 'prompts') }],
  ['prompts/get', { of: 'prompts', asks: true, answer: getPrompt }],
  ['completion/complete', { answer: completeArgument }],
])

export function findMethod(name: string, era: Era, definitions: Definitions): Method | undefined {
  const method = METHODS.get(name)
  if (method === undefined || (method.era !== undefined && method.era !== era)) return undefined
  return method.of === undefined || definitions.offers(method.of) ? method : undefined
}

export const unknownMethod = (name: string): Answer =>
  refuse(METHOD_NOT_FOUND, `There is no method ${JSON.stringify(name.slice(0, 80))} here.`)

function declareCapabilities(definitions: Definitions): JsonObject {
  const changing = { listChanged: true }
  const hasArguments = definitions.prompts.offered || definitions.templates.offered
  return {
    logging: {},
    tools: changing,
    ...(definitions.offers('resources') ? { resources: { subscribe: true, ...changing } } : {}),
    ...(definitions.offers('prompts') ? { prompts: changing } : {}),
    ...(hasArguments ? { completions: {} } : {}),
  }
}

/** The part of a discovery that a legacy handshake says as well. */
export function introduce(definitions: Definitions): JsonObject {
  const { instructions } = definitions
  return {
    capabilities: declareCapabilities(definitions),
    ...(instructions === undefined ? {} : { instructions }),
  }
}

function discover({ definitions }: MethodCall): Promise<Answer> {
  const answer = { result: { supportedVersions: MODERN_VERSIONS, ...introduce(definitions) } }
  // A client with an isolated instance has to know the label before its first call.
  return openRelease('server/discover', definitions).label(answer)
}

const LIST_FIELDS = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resourceTemplates',
  prompts: 'prompts',
} as const

/** Lists fit on one page: whoever asks for another made up its cursor. */
function list({ definitions, params, era }: MethodCall, kind: keyof typeof LIST_FIELDS): Answer {
  if (params.cursor !== undefined) return refuse(INVALID_PARAMS, 'This cursor was not given out by this server.')
  const entries = kind === 'tools' ? grantedTools(definitions) : definitions[kind].list()
  const described = entries.map((entry) =>
    era === 'legacy' && 'legacyDefinition' in entry ? entry.legacyDefinition : entry.definition,
  )
  return { result: { [LIST_FIELDS[kind]]: described } }
}

const grantedTools = (definitions: Definitions): readonly Tool[] =>
  definitions.tools.list().filter((tool) => definitions.grants(tool))

async function callTool(call: MethodCall): Promise<Answer> {
  const { definitions, params } = call
  if (typeof params.name !== 'string') return refuse(INVALID_PARAMS, 'params.name is missing; expected a tool.')
  const tool = definitions.tools.get(params.name)
  // What is not granted is answered like what is not there: lists and calls say the same.
  if (tool === undefined || !definitions.grants(tool))
    return refuse(INVALID_PARAMS, `There is no tool ${JSON.stringify(params.name.slice(0, 128))} here.`)
  const args = params.arguments ?? {}
  if (!isJsonObject(args)) return refuse(INVALID_PARAMS, 'params.arguments is not an object.')
  const release = openRelease(`tool ${params.name}`, definitions)
  try {
    // Whatever was said or thrown leaves only when the label of its session is durable, and carries it.
    return await release.label(await runTool(tool, args, call))
  } catch (error) {
    return tellThrown(`the label after tool ${params.name}`, error, call)
  }
}

/** The one seam where a thrown error becomes a result. */
async function runTool(tool: Tool, args: JsonObject, call: MethodCall): Promise<Answer> {
  const where = `tool ${tool.definition.name}`
  try {
    const checking = tool.input.check(args)
    // Handlers begin in the turn of their request, unless the schema or the label has to be waited for.
    const checked = checking instanceof Promise ? await checking : checking
    if ('wrong' in checked) throw new ToolRetryError(checked.wrong)
    if (reachesOut(tool)) await assertMayReachOut(tool, call.definitions, call.context.signal)
    const context = reachesOut(tool) ? guardAnswers(tool, call.context, call.definitions) : call.context
    const returned = await tool.handler(checked.value as JsonObject, context)
    const { output } = tool
    const result =
      output === undefined
        ? createToolResult(returned, call.era)
        : await createCheckedResult(returned, output, call.era)
    return { result: await shapeFor(tool, result) }
  } catch (error) {
    return refuseUnaskable(error, call) ?? tellThrown(where, error, call)
  }
}

function tellThrown(where: string, error: unknown, call: MethodCall): Answer {
  return { result: createErrorResult(describeThrown(where, error, call)) }
}

/** The modern era has an error of its own for what the client did not declare, so that it can come back with it. */
function refuseUnaskable(error: unknown, { era }: MethodCall): Answer | undefined {
  if (era === 'legacy' || !isA(UnaskableError, error)) return undefined
  return refuse(MISSING_CAPABILITY, error.message, { requiredCapabilities: { [error.capability]: {} } })
}

/** Large results are saved whole and shown in part, where the tool says how. */
async function shapeFor({ preset, definition }: Tool, result: ToolResult): Promise<ToolResult> {
  if (preset === undefined) return result
  return shapeToolResult(result, { preset, openShelf: currentShelf, tool: definition.name })
}

async function readResource(call: MethodCall): Promise<Answer> {
  const { uri } = call.params
  if (typeof uri !== 'string') return refuse(INVALID_PARAMS, 'params.uri is missing; expected the URI of a resource.')
  const found = call.definitions.findResource(uri)
  if (found === undefined) return unknownResource(uri, call.era)
  return orRefuse(`resource ${uri.slice(0, 200)}`, call, async () => {
    const value = await found.resource.read({ uri, variables: found.variables }, call.context)
    if (value === undefined) return unknownResource(uri, call.era)
    return { result: createResourceContents(uri, value, found.resource.mimeType) }
  })
}

function unknownResource(uri: string, era: Era): Answer {
  const code = era === 'legacy' ? RESOURCE_NOT_FOUND : INVALID_PARAMS
  return refuse(code, 'There is no such resource here.', { uri: uri.slice(0, 2048) })
}

async function getPrompt(call: MethodCall): Promise<Answer> {
  const { name } = call.params
  if (typeof name !== 'string') return refuse(INVALID_PARAMS, 'params.name is missing; expected a prompt.')
  const prompt = call.definitions.prompts.get(name)
  if (prompt === undefined)
    return refuse(INVALID_PARAMS, `There is no prompt ${JSON.stringify(name.slice(0, 128))} here.`)
  const args = readPromptArguments(prompt, call.params.arguments)
  if (typeof args === 'string') return refuse(INVALID_PARAMS, args)
  return orRefuse(`prompt ${name}`, call, async () => ({
    result: createPromptResult(prompt, await prompt.handler(args, call.context)),
  }))
}

function completeArgument(call: MethodCall): Promise<Answer> {
  return orRefuse('a completion', call, () => complete(call.definitions, call.params))
}

/** Prompts and resources have no error results: what a tool would say in one is said in the protocol's error. */
async function orRefuse(where: string, call: MethodCall, work: () => Promise<Answer>): Promise<Answer> {
  const release = openRelease(where, call.definitions)
  try {
    const answer = await work().catch((error) => refuseUnaskable(error, call) ?? refuseThrown(where, error, call))
    return await release.label(answer)
  } catch (error) {
    return refuseThrown(`the label after ${where}`, error, call)
  }
}

function refuseThrown(where: string, error: unknown, call: MethodCall): Answer {
  const failure = describeThrown(where, error, call)
  const code = failure.kind === 'retry' ? INVALID_PARAMS : INTERNAL_ERROR
  return refuse(code, failure.text, { 'sallyport/error': failure.facts })
}

function describeThrown(where: string, error: unknown, { context, definitions }: MethodCall): ToolFailure {
  // A handler that gave up because it was told to has no bug, and nobody waits for its answer.
  const obeyed = context.signal.aborted && (error === context.signal.reason || isAbortError(error))
  return describeToolError(error, () => (obeyed ? 'none' : definitions.reportBug(where, error)))
}

const isAbortError = (error: unknown): boolean => isA(Error, error) && error.name === 'AbortError'
