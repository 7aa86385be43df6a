// Stands for the model of the sub-agent, so that the example needs no key: the API of Anthropic, on loopback.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

export async function openModel() {
  const server = createServer(async (request, response) => {
    const content = [{ type: 'tool_use', id: 'toolu_1', ...decide(await json(request)) }]
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', content }
    const usage = { input_tokens: 100, output_tokens: 20 }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...message, stop_reason: 'tool_use', stop_sequence: null, usage }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { env: { MODEL_URL: `http://127.0.0.1:${server.address().port}`, MODEL_KEY: 'none' }, close }
}

/** It calls the tool that it was given. Then it reads what the tool returned, and answers. */
function decide({ messages, tools }) {
  const [block] = messages.at(-1).content
  if (block.type !== 'tool_result') return { name: tools[0].name, input: {} }
  const text = [block.content].flat().map((part) => part.text ?? part)
  const { budget, ...salaries } = Object.fromEntries(
    [...text.join('\n').matchAll(/^(\w+),(\d+)$/gm)].map(([, name, amount]) => [name, Number(amount)]),
  )
  const amounts = Object.values(salaries)
  const output = { people: amounts.length, within_budget: amounts.reduce((sum, one) => sum + one, 0) <= budget }
  return { name: 'complete_task', input: { success: budget !== undefined, output } }
}
