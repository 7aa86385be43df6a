/** A server of the TypeScript SDK v1, as its documentation shows: `ts1.mjs <stdio|http>`. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const state = { waiting: 0, cancelled: 0 }

function create() {
  const server = new McpServer(
    { name: 'interop-ts1', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  )
  const tool = (name, inputSchema, run, rest = {}) =>
    server.registerTool(name, { description: `The tool ${name}`, inputSchema, ...rest }, run)
  tool('echo', { text: z.string() }, ({ text: value }) => text(value))
  tool(
    'add',
    { a: z.number().int(), b: z.number().int() },
    ({ a, b }) => ({
      ...text(String(a + b)),
      structuredContent: { result: a + b },
    }),
    { outputSchema: { result: z.number() } },
  )
  tool(
    'weather',
    { city: z.string() },
    ({ city }) => {
      const structuredContent = { city, degrees: 21.5 }
      return { ...text(JSON.stringify(structuredContent)), structuredContent }
    },
    { outputSchema: { city: z.string(), degrees: z.number() }, annotations: { readOnlyHint: true } },
  )
  tool('picture', {}, () => ({ content: [{ type: 'image', data: PICTURE, mimeType: 'image/png' }] }))
  tool('fail', { reason: z.string() }, ({ reason }) => {
    throw new Error(reason)
  })
  tool('count', { steps: z.number().int() }, async ({ steps }, { _meta, sendNotification }) => {
    for (let progress = 1; progress <= steps; progress++) {
      const params = { progressToken: _meta?.progressToken, progress, total: steps, message: `step ${progress}` }
      await sendNotification({ method: 'notifications/progress', params })
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    return text('counted')
  })
  tool('log', {}, async (_args, { sessionId }) => {
    for (const level of ['debug', 'info', 'warning'])
      await server.sendLoggingMessage({ level, logger: 'interop', data: `a ${level} message` }, sessionId)
    await new Promise((resolve) => setTimeout(resolve, 50))
    return text('logged')
  })
  tool('wait', {}, async (_args, { signal }) => {
    state.waiting++
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    state.waiting--
    state.cancelled++
    return text('cancelled')
  })
  tool('status', {}, () => text(`waiting ${state.waiting}, cancelled ${state.cancelled}`))
  tool('ask', {}, async (_args, { sendRequest }) => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const params = { message: 'What is your name?', requestedSchema }
    const { content } = await sendRequest({ method: 'elicitation/create', params }, z.any())
    return text(`hello ${content.name}`)
  })
  tool('ask_at_once', {}, async () => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const { content } = await server.server.elicitInput({ message: 'What is your name?', requestedSchema })
    return text(`hello ${content.name}`)
  })
  tool('sample', {}, async (_args, { sendRequest }) => {
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Say a number' } }], maxTokens: 10 }
    const { content } = await sendRequest({ method: 'sampling/createMessage', params }, z.any())
    return text(`the model says ${content.text}`)
  })
  tool('roots', {}, async (_args, { sendRequest }) => {
    const { roots } = await sendRequest({ method: 'roots/list' }, z.any())
    return text(roots.map(({ uri }) => uri).join())
  })
  tool('big', { size: z.number().int() }, ({ size }) => text('0123456789'.repeat(size / 10)))
  tool('slow_echo', { text: z.string() }, async ({ text: value }) => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    return text(value)
  })
  tool('touch', {}, async () => {
    await server.server.sendResourceUpdated({ uri: 'note://first' })
    return text('touched')
  })
  tool('grow', {}, () => {
    tool('extra', {}, () => text('extra'))
    return text('grown')
  })
  server.registerResource('first', 'note://first', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: 'the first note' }],
  }))
  server.registerResource('bytes', 'data://bytes', { mimeType: 'application/octet-stream' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'application/octet-stream', blob: 'AAEC/w==' }],
  }))
  const template = new ResourceTemplate('item://{id}', { list: undefined })
  server.registerResource('item', template, { mimeType: 'text/plain' }, ({ href }, { id }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: `item ${id}` }],
  }))
  const names = (value) => ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(value))
  server.registerPrompt(
    'greet',
    { description: 'Greets somebody', argsSchema: { name: completable(z.string(), names) } },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }] }),
  )
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  return server
}

const sessions = new Map()

async function answer(request, response) {
  const known = sessions.get(request.headers['mcp-session-id'])
  if (known) return await known.handleRequest(request, response)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await create().connect(transport)
  await transport.handleRequest(request, response)
}

if (process.argv[2] === 'stdio') await create().connect(new StdioServerTransport())
else {
  const http = createServer(answer)
  http.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${http.address().port}/mcp\n`))
}
