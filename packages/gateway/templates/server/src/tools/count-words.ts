import { type McpServer, READ, ToolRetryError } from '@sallyport/kit'

const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
const output = { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] } as const

export function offerCountWords(server: McpServer): void {
  server.tool(
    'count_words',
    { description: 'Count the words of a text', permission: READ, input, output },
    ({ text }) => {
      const words = text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0
      if (words === 0) throw new ToolRetryError('The text has no words. Give a text with words.')
      return { words }
    },
  )
}
