/** A server of the TypeScript SDK v2 for both eras, as its documentation shows: `ts2.mjs <stdio|http>`. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node'
import {
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const state = { waiting: 0, cancelled: 0, hasGrown: false }

function create() {
  const server = new McpServer(
    { name: 'interop-ts2', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  )
  const tool = (name, inputSchema, run, rest = {}) =>
    server.registerTool(name, { description: `The tool ${name}`, inputSchema: z.object(inputSchema), ...rest }, run)
  tool('echo', { text: z.string() }, ({ text: value }) => text(value))
  tool(
    'add',
    { a: z.number().int(), b: z.number().int() },
    ({ a, b }) => ({
      ...text(String(a + b)),
      structuredContent: { result: a + b },
    }),
    { outputSchema: z.object({ result: z.number() }) },
  )
  tool(
    'weather',
    { city: z.string() },
    ({ city }) => {
      const structuredContent = { city, degrees: 21.5 }
      return { ...text(JSON.stringify(structuredContent)), structuredContent }
    },
    { outputSchema: z.object({ city: z.string(), degrees: z.number() }), annotations: { readOnlyHint: true } },
  )
  tool('picture', {}, () => ({ content: [{ type: 'image', data: PICTURE, mimeType: 'image/png' }] }))
  tool('fail', { reason: z.string() }, ({ reason }) => {
    throw new Error(reason)
  })
  tool('count', { steps: z.number().int() }, async ({ steps }, { mcpReq }) => {
    for (let progress = 1; progress <= steps; progress++) {
      const params = { progressToken: mcpReq._meta?.progressToken, progress, total: steps, message: `step ${progress}` }
      await mcpReq.notify({ method: 'notifications/progress', params })
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    return text('counted')
  })
  tool('log', {}, async (_args, { mcpReq }) => {
    for (const level of ['debug', 'info', 'warning']) await mcpReq.log(level, `a ${level} message`, 'interop')
    await new Promise((resolve) => setTimeout(resolve, 50))
    return text('logged')
  })
  tool('wait', {}, async (_args, { mcpReq: { signal } }) => {
    state.waiting++
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    state.waiting--
    state.cancelled++
    return text('cancelled')
  })
  tool('status', {}, () => text(`waiting ${state.waiting}, cancelled ${state.cancelled}`))
  tool('ask', {}, (_args, { mcpReq }) => {
    const content = acceptedContent(mcpReq.inputResponses, 'name')
    if (content) return text(`hello ${content.name}`)
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const name = inputRequired.elicit({ message: 'What is your name?', requestedSchema })
    return inputRequired({ inputRequests: { name } })
  })
  tool('ask_at_once', {}, async (_args, { mcpReq }) => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const { content } = await mcpReq.elicitInput({ message: 'What is your name?', requestedSchema })
    return text(`hello ${content.name}`)
  })
  tool('sample', {}, (_args, { mcpReq }) => {
    const response = inputResponse(mcpReq.inputResponses, 'number')
    if (response.kind === 'sampling') return text(`the model says ${mcpReq.inputResponses.number.content.text}`)
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Say a number' } }], maxTokens: 10 }
    return inputRequired({ inputRequests: { number: { method: 'sampling/createMessage', params } } })
  })
  tool('roots', {}, (_args, { mcpReq }) => {
    const response = inputResponse(mcpReq.inputResponses, 'roots')
    if (response.kind === 'roots') return text(mcpReq.inputResponses.roots.roots.map(({ uri }) => uri).join())
    return inputRequired({ inputRequests: { roots: { method: 'roots/list', params: {} } } })
  })
  tool('big', { size: z.number().int() }, ({ size }) => text('0123456789'.repeat(size / 10)))
  tool('slow_echo', { text: z.string() }, async ({ text: value }) => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    return text(value)
  })
  tool('touch', {}, async () => {
    await announce.updated('note://first', server)
    return text('touched')
  })
  const extra = () => tool('extra', {}, () => text('extra'))
  tool('grow', {}, () => {
    state.hasGrown = true
    extra()
    announce.toolsChanged()
    return text('grown')
  })
  if (state.hasGrown) extra()
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
    { description: 'Greets somebody', argsSchema: z.object({ name: completable(z.string(), names) }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }] }),
  )
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
  return server
}

/** How those hear of a change that are not connected to the server that made it. */
const announce = {
  updated: (uri, server) => server.server.sendResourceUpdated({ uri }),
  toolsChanged: () => {},
}

function serveHttp() {
  const modern = createMcpHandler(create, { legacy: 'reject' })
  const answerModern = toNodeHandler(modern)
  const sessions = new Map()
  announce.updated = async (uri, server) => {
    modern.notify.resourceUpdated(uri)
    await server.server.sendResourceUpdated({ uri }).catch(() => {})
  }
  announce.toolsChanged = () => modern.notify.toolsChanged()
  return createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined
    const known = sessions.get(request.headers['mcp-session-id'])
    if (known) return await known.handleRequest(request, response, body)
    if (!(await isLegacyRequest(await toWebRequest(request, body), body)))
      return await answerModern(request, response, body)
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await create().connect(transport)
    await transport.handleRequest(request, response, body)
  })
}

if (process.argv[2] === 'stdio') serveStdio(create)
else {
  const http = serveHttp()
  http.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${http.address().port}/mcp\n`))
}
