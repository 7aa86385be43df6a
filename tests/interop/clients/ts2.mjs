/** A client of the TypeScript SDK v2, in the era that the target names: `ts2.mjs <target as JSON>`. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { ANSWERS, obey, put } from './commands.mjs'

const target = JSON.parse(process.argv[2])
const isModern = target.era === 'modern'
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({ command: target.command, args: target.args })
const client = new Client(
  { name: 'interop', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } },
    versionNegotiation: { mode: isModern ? { pin: '2026-07-28' } : 'legacy' },
  },
)
for (const [method, answer] of Object.entries(ANSWERS))
  client.setRequestHandler(method, ({ params }) => {
    put({ event: 'asked', method, params })
    return answer
  })
client.setNotificationHandler('notifications/message', ({ params }) => put({ event: 'log', params }))
client.setNotificationHandler('notifications/resources/updated', ({ params }) => put({ event: 'updated', params }))
client.setNotificationHandler('notifications/tools/list_changed', () => put({ event: 'tools changed' }))
await client.connect(transport)

let level

obey({
  listTools: () => client.listTools(undefined, { cacheMode: 'reload' }),
  call: ({ name, args, progress }, signal) => {
    const onprogress = progress && ((params) => put({ event: 'progress', params }))
    const meta = isModern && level && { _meta: { 'io.modelcontextprotocol/logLevel': level } }
    return client.callTool({ name, arguments: args, ...meta }, { signal, ...(onprogress && { onprogress }) })
  },
  listResources: () => client.listResources(),
  listTemplates: () => client.listResourceTemplates(),
  read: ({ uri }) => client.readResource({ uri }),
  subscribe: ({ uri }) =>
    isModern
      ? client.listen({ resourceSubscriptions: [uri] }).then(() => undefined)
      : client.subscribeResource({ uri }),
  listPrompts: () => client.listPrompts(),
  getPrompt: ({ name, args }) => client.getPrompt({ name, arguments: args }),
  complete: ({ name, argument }) => client.complete({ ref: { type: 'ref/prompt', name }, argument }),
  setLevel: async (command) => {
    level = command.level
    if (!isModern) await client.setLoggingLevel(level)
  },
  watch: async () => {
    if (isModern) await client.listen({ toolsListChanged: true })
  },
  close: async () => {
    if (!isModern && target.url) await transport.terminateSession()
    await client.close()
  },
})
