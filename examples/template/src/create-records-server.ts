import { createMcpServer, type McpServer, offerResults, type ServerOptions } from '@sallyport/kit'
import { offerLoadSensitiveDataset } from './tools/load-sensitive-dataset.ts'
import { offerPublishNote } from './tools/publish-note.ts'
import { offerReadFile } from './tools/read-file.ts'
import { offerSearchRecords } from './tools/search-records.ts'
import { offerWriteFile } from './tools/write-file.ts'

export interface RecordsOptions extends ServerOptions {
  /** Where notes are published. */
  readonly publishUrl: string
}

const ICON = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M1 1h6v6H1z"/></svg>')}`

/** The server with all its tools, resources and prompts, for any transport. */
export function createRecordsServer(name: string, { publishUrl, ...options }: RecordsOptions): McpServer {
  const server = createMcpServer(name, {
    version: '1.0.0',
    icons: [{ src: ICON, mimeType: 'image/svg+xml', sizes: ['any'] }],
    ...options,
  })
  offerReadFile(server)
  offerWriteFile(server)
  offerSearchRecords(server)
  offerLoadSensitiveDataset(server)
  offerPublishNote(server, publishUrl)
  offerAbout(server)
  offerResults(server)
  return server
}

function offerAbout(server: McpServer): void {
  server.resource('records://about', { name: 'about', mimeType: 'text/plain' }, () => 'Teas, and who grows them.')
  server.prompt(
    'compare_records',
    {
      description: 'Compare what the records say about two things',
      arguments: [
        { name: 'one', required: true },
        { name: 'other', required: true },
      ],
    },
    ({ one, other }) => `Search the records for "${one}" and "${other}", and compare them in a table.`,
  )
}
