import { CONNECT, type McpServer, ToolFatalError, ToolRetryError } from '@sallyport/kit'
import { z } from 'zod'

const input = z.object({ text: z.string().max(10_000) })

/** Refused before the handler runs, once the session of the caller holds private data. */
export function offerPublishNote(server: McpServer, url: string): void {
  server.tool(
    'publish_note',
    { description: 'Publish a note for everybody', permission: CONNECT, input },
    async ({ text }, { signal }) => {
      const response = await post(url, text, signal)
      if (response.status === 400) throw new ToolRetryError('The note was refused. Write a shorter or plainer one.')
      // Any other error is a bug: the model gets an incident id, the log has the details.
      const { id } = z.object({ id: z.string() }).parse(await response.json())
      return { published: id }
    },
  )
}

async function post(url: string, text: string, signal: AbortSignal): Promise<Response> {
  try {
    const body = JSON.stringify({ text })
    return await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal })
  } catch (cause) {
    signal.throwIfAborted()
    throw new ToolFatalError('The notice board cannot be reached.', {
      nextStep: 'Ask an operator to fix it; trying again will not help.',
      cause,
    })
  }
}
