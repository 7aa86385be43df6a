import { type CallContext, currentWorkspace, getUserId, type McpServer, ToolRetryError, WRITE } from '@sallyport/kit'
import { FileConnector } from '@sallyport/kit/connectors'
import { z } from 'zod'

const input = z.object({ path: z.string().describe('Such as /workspace/notes.txt'), text: z.string() })
const output = z.object({ path: z.string(), size: z.number(), isNew: z.boolean() })
const sure = z.object({ replace: z.boolean().describe('Replace what is there') })

export function offerWriteFile(server: McpServer): void {
  server.tool(
    'write_file',
    { description: 'Write a text file of the workspace', permission: WRITE, input, output },
    async ({ path, text }, context) => {
      if (await isThere(path)) await requireConsent(path, context)
      const written = await FileConnector.write(path, text)
      context.log('info', { wrote: path, by: getUserId() })
      return written
    },
  )
}

/** A path that cannot be read cannot be written either, and writing reports why. */
async function isThere(path: string): Promise<boolean> {
  try {
    await currentWorkspace().stat(path)
    return true
  } catch (error) {
    if (error instanceof ToolRetryError) return false
    throw error
  }
}

/** The user of the client decides, not the model. */
async function requireConsent(path: string, context: CallContext): Promise<void> {
  const answer = await context.elicit({ message: `${path} exists already. Replace it?`, schema: sure })
  if (answer.action === 'accept' && answer.content.replace) return
  throw new ToolRetryError(`${path} was not replaced: the user said no. Write to another path.`)
}
