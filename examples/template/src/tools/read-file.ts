import { contextResult, type McpServer, READ } from '@sallyport/kit'
import { FileConnector } from '@sallyport/kit/connectors'
import { z } from 'zod'

const input = z.object({ path: z.string().describe('Such as /workspace/notes.txt') })

/** A long text is shown in part; sallyport_read_result reads the rest. */
const readText = contextResult('default', async (path: string) => (await FileConnector.read(path)).text)

export function offerReadFile(server: McpServer): void {
  server.tool('read_file', { description: 'Read a text file of the workspace', permission: READ, input }, ({ path }) =>
    readText(path),
  )
}
