import { performance } from 'node:perf_hooks'
import { answerByScript } from './harness.mjs'

const READER = 'sallyport_read_result'
const HANDLE = /r_[a-z2-7]{20}/

/** An agent in its simplest form: it sends the whole conversation to its model, and makes the calls that the model asks for. */
export async function runTask({ client, model, prompt }) {
  const tools = await offeredTools(client)
  const messages = [{ role: 'user', content: prompt }]
  const latencies = []
  for (;;) {
    const reply = await ask(model, { model: 'scripted', messages, tools })
    messages.push(reply)
    if (reply.tool_calls === undefined) return { latencies, reply: reply.content }
    for (const { id, function: called } of reply.tool_calls) {
      const begun = performance.now()
      const result = await client.call(called.name, JSON.parse(called.arguments))
      if (called.name !== READER) latencies.push(performance.now() - begun)
      messages.push({ role: 'tool', tool_call_id: id, content: result.content.map(textOf).join('\n') })
    }
  }
}

async function offeredTools(client) {
  const { message } = await client.request('tools/list')
  const shown = message.result.tools.filter(({ name }) => name.startsWith('db_') || name === READER)
  return shown.map(({ name, description, inputSchema: parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }))
}

async function ask(model, body) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${model}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`The scripted model answered ${answer.status}: ${await answer.text()}`)
  /** @type {any} */
  const { choices } = await answer.json()
  return choices[0].message
}

const textOf = (block) => block.text ?? JSON.stringify(block)

/** Runs the script, and reads one part of each result that was cut before it continues. */
export function answerLooking(conversation) {
  const { entries, tools } = conversation
  const isRead = (entry) => 'result' in entry && entry.result.tool === READER
  const last = entries.at(-1)
  const handle = last && 'result' in last && !isRead(last) ? HANDLE.exec(last.result.text)?.[0] : undefined
  const tool = tools.find(({ name }) => name === READER)
  if (handle !== undefined && tool) return { calls: [{ tool, args: { handle, grep: '[^0-9]99[^0-9]' } }] }
  return answerByScript({ ...conversation, entries: entries.filter((entry) => !isRead(entry)) })
}
