import { type Era, isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { type CacheScope, MODERN_VERSIONS } from '../era.ts'
import { CALLER_META, findScope, PURGE_METHOD } from '../identity/identity.ts'
import {
  type Answer,
  errorAnswer,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  RESOURCE_NOT_FOUND,
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
import { currentResultStore, nameResultPreset, openWholeResult, shapeToolResult } from '../results/results.ts'
import {
  describeToolError,
  isInstance,
  MissingCapabilityError,
  type ToolErrorDescription,
  ToolRetryError,
} from '../tool-error.ts'
import { createErrorResult, createToolResult, type ToolResult } from '../tool-result.ts'
import { purgeSession } from '../workspace/workspace.ts'
import { assertMayConnect, guardAnswers, needsConnect, openAnswerLabeler } from './label-enforcement.ts'

/** One request, with everything that its answer depends on. */
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
  /** If the server does not offer this list, the method is unknown. */
  readonly requiredList?: ListKind
  readonly cacheScope?: CacheScope
  /** Its handler may ask the client. */
  readonly mayAsk?: true
  /** It runs code for somebody. The others only say what the server offers. */
  readonly isForCaller?: true
}

/** The requests that do not depend on their connection. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['ping', { era: 'legacy', answer: () => ({ result: {} }) }],
  // The answer contains the label of the calling session, so no cache may share it.
  ['server/discover', { era: 'modern', cacheScope: 'private', answer: discover }],
  // The list depends on the permissions of the caller's token.
  ['tools/list', { requiredList: 'tools', cacheScope: 'private', answer: (call) => list(call, 'tools') }],
  ['tools/call', { requiredList: 'tools', mayAsk: true, isForCaller: true, answer: callTool }],
  ['resources/list', { requiredList: 'resources', cacheScope: 'public', answer: (call) => list(call, 'resources') }],
  [
    'resources/templates/list',
    { requiredList: 'resources', cacheScope: 'public', answer: (call) => list(call, 'templates') },
  ],
  [
    'resources/read',
    { requiredList: 'resources', cacheScope: 'private', mayAsk: true, isForCaller: true, answer: readResource },
  ],
  ['prompts/list', { requiredList: 'prompts', cacheScope: 'public', answer: (call) => list(call, 'prompts') }],
  ['prompts/get', { requiredList: 'prompts', mayAsk: true, isForCaller: true, answer: getPrompt }],
  ['completion/complete', { isForCaller: true, answer: completeArgument }],
  [PURGE_METHOD, { isForCaller: true, answer: purge }],
])

export function findMethod(name: string, era: Era, definitions: Definitions): Method | undefined {
  const method = METHODS.get(name)
  if (method === undefined || (method.era !== undefined && method.era !== era)) return undefined
  return method.requiredList === undefined || definitions.offers(method.requiredList) ? method : undefined
}

export const refuseUnknownMethod = (name: string): Answer =>
  errorAnswer(METHOD_NOT_FOUND, `There is no method ${JSON.stringify(name.slice(0, 80))} here.`)

function declareCapabilities(definitions: Definitions): JsonObject {
  const changing = { listChanged: true }
  const hasArguments = definitions.prompts.isOffered || definitions.templates.isOffered
  return {
    logging: {},
    tools: changing,
    ...(definitions.offers('resources') ? { resources: { subscribe: true, ...changing } } : {}),
    ...(definitions.offers('prompts') ? { prompts: changing } : {}),
    ...(hasArguments ? { completions: {} } : {}),
    ...(definitions.takesCallers ? { experimental: { [CALLER_META]: {} } } : {}),
  }
}

/** The gateway has ended the session of the call. */
async function purge(): Promise<Answer> {
  const scope = findScope()
  if (!scope?.gateway?.isPurge) return refuseUnknownMethod(PURGE_METHOD)
  return { result: { ...(await purgeSession(scope)) } }
}

/** The part of a discovery that a legacy handshake contains as well. */
export function describeServer(definitions: Definitions): JsonObject {
  const { instructions } = definitions
  return {
    capabilities: declareCapabilities(definitions),
    ...(instructions === undefined ? {} : { instructions }),
  }
}

function discover({ definitions }: MethodCall): Promise<Answer> {
  const answer = { result: { supportedVersions: MODERN_VERSIONS, ...describeServer(definitions) } }
  // A client with an isolated instance must know the label before its first call.
  return openAnswerLabeler('server/discover', definitions).label(answer)
}

const LIST_FIELDS = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resourceTemplates',
  prompts: 'prompts',
} as const

/** Lists have one page only, so no cursor is valid. */
function list({ definitions, params, era }: MethodCall, kind: keyof typeof LIST_FIELDS): Answer {
  if (params.cursor !== undefined) return errorAnswer(INVALID_PARAMS, 'This cursor was not given out by this server.')
  const entries = kind === 'tools' ? listGrantedTools(definitions) : definitions[kind].list()
  const described = entries.map((entry) =>
    era === 'legacy' && 'legacyDefinition' in entry ? entry.legacyDefinition : entry.definition,
  )
  return { result: { [LIST_FIELDS[kind]]: described } }
}

const listGrantedTools = (definitions: Definitions): readonly Tool[] =>
  definitions.tools.list().filter((tool) => definitions.isGranted(tool))

async function callTool(call: MethodCall): Promise<Answer> {
  const { definitions, params } = call
  if (typeof params.name !== 'string') return errorAnswer(INVALID_PARAMS, 'params.name is missing; expected a tool.')
  const tool = definitions.tools.get(params.name)
  // A tool that is not granted is answered like a missing one, so that lists and calls agree.
  if (tool === undefined || !definitions.isGranted(tool))
    return errorAnswer(INVALID_PARAMS, `There is no tool ${JSON.stringify(params.name.slice(0, 128))} here.`)
  const args = params.arguments ?? {}
  if (!isJsonObject(args)) return errorAnswer(INVALID_PARAMS, 'params.arguments is not an object.')
  const release = openAnswerLabeler(`tool ${params.name}`, definitions)
  try {
    // A result or error is released only when the label of its session is stored, and contains that label.
    return await release.label(await runTool(tool, args, call))
  } catch (error) {
    return toErrorAnswer(`the label after tool ${params.name}`, error, call)
  }
}

/** The only place where a thrown error becomes a result. */
async function runTool(tool: Tool, args: JsonObject, call: MethodCall): Promise<Answer> {
  const where = `tool ${tool.definition.name}`
  try {
    const checking = tool.input.check(args)
    // Handlers start in the same tick as their request, unless the schema or the label must be awaited.
    const checked = checking instanceof Promise ? await checking : checking
    if ('wrong' in checked) throw new ToolRetryError(checked.wrong)
    if (needsConnect(tool)) await assertMayConnect(tool, call.definitions, call.context.signal)
    const context = needsConnect(tool) ? guardAnswers(tool, call.context, call.definitions) : call.context
    const staysWhole = openWholeResult()
    const returned = await tool.handler(checked.value as JsonObject, context)
    const { output } = tool
    const result =
      output === undefined
        ? createToolResult(returned, call.era)
        : await createCheckedResult(returned, output, call.era)
    return { result: staysWhole ? nameResultPreset(result, tool.preset) : await applyPreset(tool, result) }
  } catch (error) {
    return refuseMissingCapability(error, call) ?? toErrorAnswer(where, error, call)
  }
}

function toErrorAnswer(where: string, error: unknown, call: MethodCall): Answer {
  return { result: createErrorResult(describeThrown(where, error, call)) }
}

/** The modern era has an error code for an undeclared capability, so that the client can retry with it. */
function refuseMissingCapability(error: unknown, { era }: MethodCall): Answer | undefined {
  if (era === 'legacy' || !isInstance(MissingCapabilityError, error)) return undefined
  return errorAnswer(MISSING_CAPABILITY, error.message, { requiredCapabilities: { [error.capability]: {} } })
}

/** Saves large results and shows them in part, if the tool has a preset. */
async function applyPreset({ preset, definition }: Tool, result: ToolResult): Promise<ToolResult> {
  if (preset === undefined) return result
  return shapeToolResult(result, { preset, openStore: currentResultStore, tool: definition.name })
}

async function readResource(call: MethodCall): Promise<Answer> {
  const { uri } = call.params
  if (typeof uri !== 'string')
    return errorAnswer(INVALID_PARAMS, 'params.uri is missing; expected the URI of a resource.')
  const found = call.definitions.findResource(uri)
  if (found === undefined) return refuseUnknownResource(uri, call.era)
  return answerOrRefuse(`resource ${uri.slice(0, 200)}`, call, async () => {
    const value = await found.resource.read({ uri, variables: found.variables }, call.context)
    if (value === undefined) return refuseUnknownResource(uri, call.era)
    return { result: createResourceContents(uri, value, found.resource.mimeType) }
  })
}

function refuseUnknownResource(uri: string, era: Era): Answer {
  const code = era === 'legacy' ? RESOURCE_NOT_FOUND : INVALID_PARAMS
  return errorAnswer(code, 'There is no such resource here.', { uri: uri.slice(0, 2048) })
}

async function getPrompt(call: MethodCall): Promise<Answer> {
  const { name } = call.params
  if (typeof name !== 'string') return errorAnswer(INVALID_PARAMS, 'params.name is missing; expected a prompt.')
  const prompt = call.definitions.prompts.get(name)
  if (prompt === undefined)
    return errorAnswer(INVALID_PARAMS, `There is no prompt ${JSON.stringify(name.slice(0, 128))} here.`)
  const args = readPromptArguments(prompt, call.params.arguments)
  if (typeof args === 'string') return errorAnswer(INVALID_PARAMS, args)
  return answerOrRefuse(`prompt ${name}`, call, async () => ({
    result: createPromptResult(prompt, await prompt.handler(args, call.context)),
  }))
}

function completeArgument(call: MethodCall): Promise<Answer> {
  return answerOrRefuse('a completion', call, () => complete(call.definitions, call.params))
}

/** Prompts and resources have no error results, so tool errors become protocol errors. */
async function answerOrRefuse(where: string, call: MethodCall, work: () => Promise<Answer>): Promise<Answer> {
  const release = openAnswerLabeler(where, call.definitions)
  try {
    const answer = await work().catch(
      (error) => refuseMissingCapability(error, call) ?? toRpcErrorAnswer(where, error, call),
    )
    return await release.label(answer)
  } catch (error) {
    return toRpcErrorAnswer(`the label after ${where}`, error, call)
  }
}

function toRpcErrorAnswer(where: string, error: unknown, call: MethodCall): Answer {
  const failure = describeThrown(where, error, call)
  const code = failure.kind === 'retry' ? INVALID_PARAMS : INTERNAL_ERROR
  return errorAnswer(code, failure.text, { 'sallyport/error': failure.facts })
}

function describeThrown(where: string, error: unknown, { context, definitions }: MethodCall): ToolErrorDescription {
  // A handler that stopped because it was cancelled has no bug, and nobody waits for its answer.
  const obeyed = context.signal.aborted && (error === context.signal.reason || isAbortError(error))
  return describeToolError(error, () => (obeyed ? 'none' : definitions.reportBug(where, error)))
}

const isAbortError = (error: unknown): boolean => isInstance(Error, error) && error.name === 'AbortError'
