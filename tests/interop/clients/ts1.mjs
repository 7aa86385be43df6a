/** A client of the TypeScript SDK v1: `ts1.mjs <target as JSON>`. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { ANSWERS, obey, put } from './commands.mjs'

const target = JSON.parse(process.argv[2])
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({ command: target.command, args: target.args })
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } }
const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities })
for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema])
  client.setRequestHandler(schema, ({ method, params }) => {
    put({ event: 'asked', method, params })
    return ANSWERS[method]
  })
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => put({ event: 'log', params }))
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => put({ event: 'updated', params }))
client.setNotificationHandler(ToolListChangedNotificationSchema, () => put({ event: 'tools changed' }))
await client.connect(transport)

obey({
  listTools: () => client.listTools(),
  call: ({ name, args, progress }, signal) => {
    const onprogress = progress && ((params) => put({ event: 'progress', params }))
    return client.callTool({ name, arguments: args }, undefined, { signal, ...(onprogress && { onprogress }) })
  },
  listResources: () => client.listResources(),
  listTemplates: () => client.listResourceTemplates(),
  read: ({ uri }) => client.readResource({ uri }),
  subscribe: ({ uri }) => client.subscribeResource({ uri }),
  listPrompts: () => client.listPrompts(),
  getPrompt: ({ name, args }) => client.getPrompt({ name, arguments: args }),
  complete: ({ name, argument }) => client.complete({ ref: { type: 'ref/prompt', name }, argument }),
  setLevel: ({ level }) => client.setLoggingLevel(level),
  watch: async () => {},
  close: async () => {
    if (target.url) await transport.terminateSession()
    await client.close()
  },
})
