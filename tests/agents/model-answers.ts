import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { ModelApi } from './model-requests.ts'
import type { ModelAnswer, ModelCall } from './scripted-answer.ts'

type Json = Record<string, any>

interface Writing {
  readonly response: ServerResponse
  readonly body: Json
  readonly url: URL
  readonly answer: ModelAnswer
}

/** Answers as each API does, in one piece or as a stream. */
export const ANSWER_WRITERS: Readonly<Record<ModelApi, (writing: Writing) => void>> = {
  anthropic: writeAnthropic,
  chat: writeChat,
  responses: writeResponses,
  gemini: writeGemini,
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const newId = (prefix: string): string => `${prefix}_${randomUUID().replaceAll('-', '')}`
const callsOf = (answer: ModelAnswer): readonly ModelCall[] => ('calls' in answer ? answer.calls : [])
const textOf = (answer: ModelAnswer): string => ('text' in answer ? answer.text : '')

/** The events of a stream; those that have a type are named after it. */
function sendEvents(response: ServerResponse, events: readonly (Json | '[DONE]')[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const event of events) {
    if (event === '[DONE]') response.write('data: [DONE]\n\n')
    else response.write(`${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
  }
  response.end()
}

function writeAnthropic({ response, body, answer }: Writing): void {
  const uses = callsOf(answer).map(({ tool, args }) => ({
    ...{ type: 'tool_use', id: newId('toolu') },
    ...{ name: tool.name, input: args },
  }))
  const content: readonly Json[] = uses.length > 0 ? uses : [{ type: 'text', text: textOf(answer) }]
  const usage = { input_tokens: 100, output_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const ending = { stop_reason: uses.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null }
  const message = { id: newId('msg'), type: 'message', role: 'assistant', model: body.model, content, ...ending, usage }
  if (!body.stream) return sendJson(response, message)
  sendEvents(response, [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    ...content.flatMap(anthropicBlock),
    { type: 'message_delta', delta: ending, usage },
    { type: 'message_stop' },
  ])
}

function anthropicBlock(block: Json, index: number): readonly Json[] {
  const isUse = block.type === 'tool_use'
  const delta = isUse
    ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
    : { type: 'text_delta', text: block.text }
  return [
    { type: 'content_block_start', index, content_block: isUse ? { ...block, input: {} } : { ...block, text: '' } },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index },
  ]
}

function writeChat({ response, body, answer }: Writing): void {
  const head = { id: newId('chatcmpl'), created: Math.floor(Date.now() / 1_000), model: body.model }
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
  const calls = callsOf(answer).map(({ tool, args }, index) => ({
    ...{ index, id: newId('call'), type: 'function' },
    function: { name: tool.name, arguments: JSON.stringify(args) },
  }))
  const content = calls.length > 0 ? { content: null, tool_calls: calls } : { content: textOf(answer) }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  if (!body.stream) {
    const choices = [{ index: 0, message: { role: 'assistant', ...content }, finish_reason }]
    return sendJson(response, { ...head, object: 'chat.completion', choices, usage })
  }
  const chunk = (choices: readonly Json[], rest: Json = {}): Json => ({
    ...{ ...head, object: 'chat.completion.chunk' },
    ...{ choices, ...rest },
  })
  const piece = (delta: Json): Json => chunk([{ index: 0, delta, finish_reason: null }])
  sendEvents(response, [
    piece({ role: 'assistant', content: '' }),
    ...(calls.length > 0 ? calls.map((call) => piece({ tool_calls: [call] })) : [piece(content)]),
    chunk([{ index: 0, delta: {}, finish_reason }]),
    chunk([], { usage }),
    '[DONE]',
  ])
}

function writeResponses({ response, body, answer }: Writing): void {
  const calls = callsOf(answer).map(responsesCall)
  const text = { type: 'output_text', text: textOf(answer), annotations: [] }
  const message = { type: 'message', id: newId('msg'), role: 'assistant', status: 'completed', content: [text] }
  const output: readonly Json[] = calls.length > 0 ? calls : [message]
  const whole = {
    ...{ id: newId('resp'), object: 'response', created_at: Math.floor(Date.now() / 1_000), model: body.model },
    ...{ status: 'completed', output },
    usage: {
      ...{ input_tokens: 100, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens: 20, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 120 },
    },
  }
  if (!body.stream) return sendJson(response, whole)
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    ...output.flatMap(responsesItem),
    { type: 'response.completed', response: whole },
  ]
  sendEvents(
    response,
    events.map((event, sequence_number) => ({ ...event, sequence_number })),
  )
}

function responsesCall({ tool, args }: ModelCall): Json {
  const head = { id: newId('fc'), call_id: newId('call'), status: 'completed' }
  if (tool.custom)
    return { ...head, type: 'custom_tool_call', name: tool.name, input: args.input ?? JSON.stringify(args) }
  if (tool.builtin) return { ...head, type: `${tool.name}_call`, execution: 'client', arguments: args }
  const { name, namespace } = tool
  return { ...head, type: 'function_call', name, ...(namespace && { namespace }), arguments: JSON.stringify(args) }
}

function responsesItem(item: Json, output_index: number): readonly Json[] {
  const place = { output_index, item_id: item.id }
  const added = { type: 'response.output_item.added', output_index, item }
  const done = { type: 'response.output_item.done', output_index, item }
  if (item.type === 'function_call') {
    const { arguments: args } = item
    return [
      { ...added, item: { ...item, status: 'in_progress', arguments: '' } },
      { type: 'response.function_call_arguments.delta', ...place, delta: args },
      { type: 'response.function_call_arguments.done', ...place, arguments: args },
      done,
    ]
  }
  if (item.type !== 'message') return [added, done]
  const [part] = item.content
  const at = { ...place, content_index: 0 }
  return [
    { ...added, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: part.text },
    { type: 'response.output_text.done', ...at, text: part.text },
    { type: 'response.content_part.done', ...at, part },
    done,
  ]
}

function writeGemini({ response, body, url, answer }: Writing): void {
  const calls = callsOf(answer).map(({ tool, args }) => ({
    functionCall: { id: newId('call'), name: tool.name, args },
  }))
  const parts = calls.length > 0 ? calls : [{ text: textOf(answer) }]
  const whole = {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
    ...{ modelVersion: body.model ?? 'scripted', responseId: newId('resp') },
  }
  if (!url.pathname.endsWith(':streamGenerateContent')) return sendJson(response, whole)
  if (url.searchParams.get('alt') !== 'sse') return sendJson(response, [whole])
  sendEvents(response, [whole])
}
