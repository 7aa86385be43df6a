import { createMcpServer, type McpServer } from './mcp-server.ts'
import type { Bug } from './offers/definitions.ts'
import { READ } from './permission.ts'

export const SAMPLE_OPTIONS = { version: '1.2.3', instructions: 'Be kind.' }

/** A server with a tool that answers and one that never does. */
export function createSampleServer(onBug: (bug: Bug) => void = () => undefined): McpServer {
  const server = createMcpServer('sample', { ...SAMPLE_OPTIONS, onBug })
  server.tool(
    'echo',
    { description: 'Says it again', permission: READ, input: { type: 'object', properties: { value: {} } } },
    ({ value }) => value,
  )
  server.tool('wait', { description: 'Waits', permission: READ }, (_, { signal }) => {
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  return server
}
