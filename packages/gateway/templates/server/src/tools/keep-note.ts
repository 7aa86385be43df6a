import { type McpServer, WRITE } from '@sallyport/kit'
import { FileConnector } from '@sallyport/kit/connectors'

const input = { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] } as const

/** Notes are in the workspace of the calling user and session, which nobody else sees. */
export function offerKeepNote(server: McpServer): void {
  server.tool('keep_note', { description: 'Keep a note for later', permission: WRITE, input }, async ({ note }) => {
    const { path, size } = await FileConnector.append('/workspace/notes.txt', `${note}\n`)
    return { path, size }
  })
}
