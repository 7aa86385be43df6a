import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import {
  createMcpClient,
  createMcpServer,
  FatalToolError,
  type McpClient,
  READ,
  ToolFatalError,
  ToolRetryError,
  toolResult,
} from '@sallyport/kit'
import { createAnthropicTools } from '@sallyport/kit/client/anthropic'
import { createChatTools, createResponsesTools } from '@sallyport/kit/client/openai'
import { generateText, isStepCount, streamText } from 'ai'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openScriptedModel, type ScriptedModel } from '../agents/scripted-model.ts'
import { promise } from '../promises.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const LONG = `${'very_'.repeat(20)}long`
const QUERY = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] } as const

let model: ScriptedModel
let client: McpClient
let begun: Promise<void>
let cancelled: Promise<void>

beforeEach(async () => {
  model = await openScriptedModel()
  const server = createMcpServer('records', { version: '1.0.0' })
  let begin = (): void => {}
  let cancel = (): void => {}
  begun = new Promise((resolve) => {
    begin = resolve
  })
  cancelled = new Promise((resolve) => {
    cancel = resolve
  })
  server.tool('search', { description: 'Searches', permission: READ, input: QUERY }, ({ query }) => {
    if (query === '') throw new ToolRetryError('The query is empty.')
    return `found ${query}`
  })
  server.tool('down', { description: 'Fails', permission: READ }, () => {
    throw new ToolFatalError('The index is gone.')
  })
  server.tool('picture', { description: 'Draws', permission: READ }, () =>
    toolResult({
      content: [
        { type: 'text', text: 'a pixel' },
        { type: 'image', mimeType: 'image/png', data: PIXEL },
        { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' },
      ],
    }),
  )
  server.tool('numbers', { description: 'Counts', permission: READ }, () =>
    toolResult({ content: [], structuredContent: { one: 1 } }),
  )
  server.tool(LONG, { description: 'Has a long name', permission: READ }, () => 'long')
  server.tool('odd.name.here', { description: 'Has an odd name', permission: READ }, () => 'odd')
  server.tool('wait', { description: 'Waits', permission: READ }, (_, { signal }) => {
    begin()
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => {
        cancel()
        reject(signal.reason)
      }),
    )
  })
  client = await createMcpClient({ server })
})

afterEach(async () => {
  await client.close()
  await model.close()
})

const GOOD = '[[call search {"query":"tea"}]]\n[[call search {"query":""}]]\n[[call picture]]\n[[call numbers]]'
const NAMES = '[[call very_long]]'
const FATAL = '[[call search {"query":"tea"}]]\n[[call down]]\n[[call search {"query":"never"}]]'

/** What the model was told of each call, at the end. */
const resultTexts = () => model.requests.at(-1)?.results.map(({ text }) => text)
const bodies = () => model.requests.map(({ body }) => JSON.parse(body))

/** One way to run an agent: it goes on until the model has nothing more to call. */
type Loop = (prompt: string, signal?: AbortSignal) => Promise<unknown>

const LOOPS: Readonly<Record<string, Loop>> = {
  'generateText of the AI SDK with Anthropic': async (prompt, signal) => {
    const provider = createAnthropic({ baseURL: `${model.url}/v1`, apiKey: 'none' })
    return generateText({
      model: provider('scripted'),
      maxOutputTokens: 1_000,
      tools: await client.tools(),
      prompt,
      stopWhen: isStepCount(9),
      maxRetries: 0,
      ...(signal && { abortSignal: signal }),
    })
  },
  'generateText of the AI SDK with OpenAI': async (prompt, signal) => {
    const provider = createOpenAI({ baseURL: `${model.url}/v1`, apiKey: 'none' })
    return generateText({
      model: provider.responses('scripted'),
      tools: await client.tools(),
      prompt,
      stopWhen: isStepCount(9),
      maxRetries: 0,
      ...(signal && { abortSignal: signal }),
    })
  },
  'streamText of the AI SDK': async (prompt, signal) => {
    const provider = createOpenAI({ baseURL: `${model.url}/v1`, apiKey: 'none' })
    let failure: unknown
    const stream = streamText({
      model: provider.chat('scripted'),
      tools: await client.tools(),
      prompt,
      stopWhen: isStepCount(9),
      maxRetries: 0,
      onError: ({ error }) => {
        failure = error
      },
      ...(signal && { abortSignal: signal }),
    })
    await stream.consumeStream()
    signal?.throwIfAborted()
    if (failure !== undefined) throw failure
    return stream.steps
  },
  'chat.completions of the OpenAI SDK': async (prompt, signal) => {
    const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const { tools, runToolCall } = await createChatTools(client)
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
    for (;;) {
      const { choices } = await openai.chat.completions.create({ model: 'scripted', messages, tools })
      const message = choices[0]?.message
      if (message?.tool_calls === undefined) return message
      messages.push(message)
      for (const call of message.tool_calls) messages.push(await runToolCall(call, signal && { signal }))
    }
  },
  'responses of the OpenAI SDK': async (prompt, signal) => {
    const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const { tools, runToolCall } = await createResponsesTools(client)
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: prompt }]
    for (;;) {
      const { output } = await openai.responses.create({ model: 'scripted', input, tools })
      const calls = output.filter((item) => item.type === 'function_call')
      if (calls.length === 0) return output
      input.push(...calls)
      for (const call of calls) input.push(await runToolCall(call, signal && { signal }))
    }
  },
  'messages of the Anthropic SDK': async (prompt, signal) => {
    const anthropic = new Anthropic({ baseURL: model.url, apiKey: 'none', maxRetries: 0 })
    const { tools, runToolCall } = await createAnthropicTools(client)
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }]
    for (;;) {
      const answer = await anthropic.messages.create({ model: 'scripted', max_tokens: 1_000, messages, tools })
      const uses = answer.content.filter((block) => block.type === 'tool_use')
      if (uses.length === 0) return answer
      messages.push({ role: 'assistant', content: answer.content })
      const content: Anthropic.ToolResultBlockParam[] = []
      for (const use of uses) content.push(await runToolCall(use, signal && { signal }))
      messages.push({ role: 'user', content })
    }
  },
}

describe.each(Object.entries(LOOPS))(`%s: ${promise('KIT-14')}`, (_, loop) => {
  test('calls tools, and passes results and correctable errors to the model', async () => {
    await loop(GOOD)
    expect(resultTexts()).toEqual([
      'found tea',
      expect.stringContaining('The query is empty.'),
      expect.stringContaining('a pixel'),
      '{"one":1}',
    ])
    expect(client.isAborted).toBe(false)
  })

  test('offers names that every provider accepts, and finds the tools by them', async () => {
    await loop(NAMES).catch(() => {})
    const names = model.requests[0]?.tools ?? []
    expect(names).toHaveLength(7)
    expect(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true)
    const odd = names.find((name) => name.startsWith('odd_'))
    const long = names.find((name) => name.startsWith('very_'))
    await loop(`[[call !${odd}]]\n[[call !${long}]]`)
    expect(resultTexts()).toEqual(['odd', 'long'])
  })

  test('ends with the fatal error of a tool, and the model is not asked again', async () => {
    await expect(loop(FATAL)).rejects.toThrow(new FatalToolError('down', 'The index is gone.'))
    expect(model.requests).toHaveLength(2)
    expect(client.isAborted).toBe(true)
  })

  test('cancels a call with the signal of the loop', async () => {
    const giving = new AbortController()
    const ended = loop('[[call wait]]', giving.signal).then(
      () => 'well',
      () => 'badly',
    )
    await begun
    giving.abort(new Error('enough'))
    await cancelled
    expect(await ended).toBe('badly')
  })
})

test('images reach models that accept them as images, other files as text', async () => {
  await LOOPS['messages of the Anthropic SDK']?.('[[call picture]]')
  const [anthropic] = bodies().at(-1).messages.at(-1).content
  expect(anthropic.content).toEqual([
    { type: 'text', text: 'a pixel' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
    { type: 'text', text: '[audio/wav, 6 bytes, not shown]' },
  ])
  await LOOPS['responses of the OpenAI SDK']?.('[[call picture]]')
  expect(bodies().at(-1).input.at(-1).output).toEqual([
    { type: 'input_text', text: 'a pixel' },
    { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${PIXEL}` },
    { type: 'input_text', text: '[audio/wav, 6 bytes, not shown]' },
  ])
})

test('the Anthropic SDK gets the flag of results that are errors', async () => {
  await LOOPS['messages of the Anthropic SDK']?.('[[call search {"query":""}]]\n[[call search {"query":"tea"}]]')
  const results = bodies()
    .at(-1)
    .messages.flatMap(({ content }: any) => (Array.isArray(content) ? content : []))
    .filter(({ type }: any) => type === 'tool_result')
  expect(results.map(({ is_error }: any) => is_error)).toEqual([true, false])
})
