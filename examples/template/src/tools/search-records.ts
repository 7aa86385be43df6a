import { type McpServer, READ, ToolRetryError } from '@sallyport/kit'
import { SqlConnector } from '@sallyport/kit/connectors'
import { z } from 'zod'

const input = z.object({ query: z.string().describe('Part of a title or text'), limit: z.int().min(1).default(500) })

const SEARCH = 'SELECT id, title, text FROM record WHERE instr(lower(title || text), lower(?)) ORDER BY id LIMIT ?'

export function offerSearchRecords(server: McpServer): void {
  server.tool(
    'search_records',
    { description: 'Search the records', permission: READ, input, result: 'sql_query' },
    async ({ query, limit }, { signal }) => {
      if (query.trim() === '') throw new ToolRetryError('The query is empty. Give a search term, such as "oolong".')
      const { rows } = await SqlConnector.query('records', SEARCH, { parameters: [query, limit], signal })
      return rows
    },
  )
}
