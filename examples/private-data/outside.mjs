// The servers that data could leave by, written with the SDK of the protocol: they know nothing of private data.
// What they received is the proof of the example, not what the gateway says about itself.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** The longest bar has 40 characters. */
function drawBars(text) {
  const numbers = text.split(' ').map(Number)
  const unit = Math.max(...numbers) / 40
  return numbers.map((number) => '#'.repeat(number / unit)).join('\n')
}

const charts = { tool: 'draw', description: 'Draw numbers as bars', run: drawBars }

/** Each has one tool, which takes a text. */
const SERVERS = {
  chat: { tool: 'post_message', description: 'Post a message to the chat', run: () => 'Posted.' },
  charts,
  chartsIsolated: charts,
  ledger: { tool: 'book', description: 'Book an amount', run: () => 'Booked.' },
}

/** @returns the open servers by name, each with the texts that its tool got, and with everything that it received */
export async function openOutside() {
  const opened = Object.entries(SERVERS).map(async ([name, server]) => [name, await open(name, server)])
  return Object.fromEntries(await Promise.all(opened))
}

async function open(name, { tool, description, run }) {
  const texts = []
  let received = ''
  const answer = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name, version: '1.0.0' })
      server.registerTool(tool, { description, inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
        texts.push(text)
        return { content: [{ type: 'text', text: run(text) }] }
      })
      return server
    }),
  )
  const listener = createServer(async (request, response) => {
    const body = await readText(request)
    received += JSON.stringify([request.url, request.headers, body])
    await answer(request, response, body && JSON.parse(body))
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${listener.address().port}`
  const close = () => {
    listener.close()
    listener.closeAllConnections()
  }
  return { host, url: `http://${host}/mcp`, texts, received: () => received, close }
}
