import { readFile } from 'node:fs/promises'
import { cutText, type Json, messageOf, redactText, SallyportError } from '@sallyport/core'
import type { LanguageModel, ModelMessage as SdkMessage, ToolSet } from 'ai'
import type { ModelSettings } from '../config/config.ts'
import type { ModelEngine, ModelMessage, ModelTool, ModelTurn } from './model-engine.ts'

type Provider = ModelSettings['provider']

/** Fast and cheap models: here they only copy, find and quote. */
const DEFAULT_MODELS: Readonly<Record<Exclude<Provider, 'openai-compatible'>, string>> = {
  anthropic: 'claude-haiku-4-5',
  openai: 'gpt-5-mini',
  google: 'gemini-2.5-flash',
}

const PACKAGES: Readonly<Record<Provider, string>> = {
  anthropic: '@ai-sdk/anthropic',
  openai: '@ai-sdk/openai',
  google: '@ai-sdk/google',
  'openai-compatible': '@ai-sdk/openai-compatible',
}

const MAX_REASON_LENGTH = 300

/** A model of a provider, through the AI SDK. The SDK is loaded with the first call that needs it. */
export function createProviderEngine(settings: ModelSettings): ModelEngine {
  const model = settings.name ?? DEFAULT_MODELS[settings.provider as keyof typeof DEFAULT_MODELS]
  const name = `${settings.provider}/${model}`
  let opened: Promise<OpenModel> | undefined
  return {
    name,
    async turn(request) {
      opened ??= openModel(settings, model)
      const { generateText, jsonSchema, languageModel, apiKey } = await opened.catch((cause: unknown) => {
        opened = undefined
        throw cause instanceof SallyportError ? cause : notInstalled(settings.provider, cause)
      })
      const tools = toolSet(request.tools, jsonSchema)
      return generateText({
        model: languageModel,
        instructions: request.system,
        messages: request.messages.flatMap(sdkMessages),
        tools,
        maxOutputTokens: request.maxOutputTokens,
        // A retry is a turn, and `askModel` counts turns.
        maxRetries: 0,
        abortSignal: request.signal,
      }).then(toTurn, (error: unknown) => {
        request.signal.throwIfAborted()
        throw unavailable(name, apiKey, error)
      })
    },
  }
}

type Sdk = typeof import('ai')

interface OpenModel extends Pick<Sdk, 'generateText' | 'jsonSchema'> {
  readonly languageModel: LanguageModel
  readonly apiKey: string | undefined
}

async function openModel(settings: ModelSettings, model: string): Promise<OpenModel> {
  const apiKey = settings.apiKeyFile === undefined ? settings.apiKey : await readKey(settings.apiKeyFile)
  const { generateText, jsonSchema } = await import('ai')
  return { generateText, jsonSchema, apiKey, languageModel: await openLanguageModel({ ...settings, apiKey }, model) }
}

async function readKey(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw noKey("The file of the model's key cannot be read.", cause)
  })
  const key = text.trim()
  if (key === '') throw noKey("The file of the model's key is empty.")
  return key
}

const noKey = (message: string, cause?: unknown): SallyportError =>
  new SallyportError('MODEL_UNAVAILABLE', message, { hint: 'Correct api_key_file of the model.', cause })

async function openLanguageModel({ provider, baseUrl, apiKey }: ModelSettings, model: string): Promise<LanguageModel> {
  const options = { fetch: modelFetch, ...(baseUrl && { baseURL: baseUrl }), ...(apiKey && { apiKey }) }
  switch (provider) {
    case 'anthropic':
      return (await import('@ai-sdk/anthropic')).createAnthropic(options)(model)
    case 'openai':
      return (await import('@ai-sdk/openai')).createOpenAI(options)(model)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogle(options)(model)
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({ name: 'model', ...options, baseURL: baseUrl ?? '' })(model)
    }
  }
}

function toolSet(tools: readonly ModelTool[], jsonSchema: Sdk['jsonSchema']): ToolSet {
  const entries = tools.map(({ name, description, inputSchema }) => [
    name,
    { description, inputSchema: jsonSchema(inputSchema as Parameters<Sdk['jsonSchema']>[0]) },
  ])
  return Object.fromEntries(entries) as ToolSet
}

function sdkMessages(message: ModelMessage): readonly SdkMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.text }]
    case 'model': {
      const text = message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]
      const calls = message.calls.map(({ id, name, input }) => ({
        ...{ type: 'tool-call' as const, toolCallId: id, toolName: name, input },
      }))
      return [{ role: 'assistant', content: [...text, ...calls] }]
    }
    case 'tools': {
      const content = message.results.map(({ call, text, isError }) => ({
        ...{ type: 'tool-result' as const, toolCallId: call.id, toolName: call.name },
        output: { type: isError ? ('error-text' as const) : ('text' as const), value: text },
      }))
      return [{ role: 'tool', content }]
    }
  }
}

type Generated = Awaited<ReturnType<Sdk['generateText']>>

function toTurn({ text, toolCalls, usage }: Generated): ModelTurn {
  const calls = toolCalls.map(({ toolCallId, toolName, input }) => ({
    ...{ id: toolCallId, name: toolName, input: input as Json },
  }))
  return { text, calls, tokensIn: usage.inputTokens, tokensOut: usage.outputTokens }
}

function notInstalled(provider: Provider, cause: unknown): SallyportError {
  const isMissing = (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
  const why = isMissing ? 'is not installed' : 'could not be loaded'
  return new SallyportError('MODEL_UNAVAILABLE', `The package that reaches models of ${provider} ${why}.`, {
    hint: `Install it beside the gateway: npm install ai ${PACKAGES[provider]}`,
    cause,
  })
}

/** The error text of a provider may repeat the key, so the key is removed. */
function unavailable(name: string, apiKey: string | undefined, error: unknown): SallyportError {
  const text = messageOf(error)
  // Redact before cutting: a cut through the middle of a key would leave a part of it.
  const why = cutText(redactText(apiKey ? text.replaceAll(apiKey, '…') : text), MAX_REASON_LENGTH)
  return new SallyportError('MODEL_UNAVAILABLE', `The model ${name} gave no answer: ${why}`, {
    hint: 'Check isolation.model: the key, the address and the name of the model.',
    cause: error,
  })
}

/** Far more than any answer that the budget of a call allows. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Sends requests to a provider. Redirects are refused: `fetch` would send the key to the new address, in a header that
 * it does not remove. Answers larger than any real one are refused as well.
 */
const modelFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' })
  if (response.body === null) return response
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(limitBytes(MAX_BYTES)), { status, statusText, headers })
}

function limitBytes(max: number): TransformStream<Uint8Array, Uint8Array> {
  let seen = 0
  return new TransformStream({
    transform(piece, controller) {
      seen += piece.length
      if (seen > max) controller.error(new Error(`its answer has more than ${max} bytes`))
      else controller.enqueue(piece)
    },
  })
}
