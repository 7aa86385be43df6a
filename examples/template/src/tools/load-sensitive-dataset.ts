import { type McpServer, privateData, READ, ToolRetryError, WRITE } from '@sallyport/kit'
import { CsvConnector, SqlConnector } from '@sallyport/kit/connectors'
import { z } from 'zod'

const DATASETS = { salaries: 'SELECT name, salary FROM salary ORDER BY name' }

const input = z.object({ name: z.string().describe(`One of: ${Object.keys(DATASETS).join(', ')}`) })

export function offerLoadSensitiveDataset(server: McpServer): void {
  server.tool(
    'load_sensitive_dataset',
    { description: 'Copy a private dataset into the workspace', permission: [READ, WRITE], input },
    async ({ name }, { progress, signal }) => {
      const sql = Object.hasOwn(DATASETS, name) ? DATASETS[name as keyof typeof DATASETS] : undefined
      if (sql === undefined)
        throw new ToolRetryError(`There is no dataset "${name}". Expected one of: ${Object.keys(DATASETS).join(', ')}.`)
      // Before anything is read: if the rest fails, the session may still have seen some of the data.
      await privateData().addPrivateDataset(name, 'CONFIDENTIAL')
      progress(1, 3, 'Querying the database')
      const { rows } = await SqlConnector.query('people', sql, { signal })
      progress(2, 3, 'Writing the file')
      const path = `/workspace/${name}.csv`
      await CsvConnector.write(path, rows)
      progress(3, 3, 'Done')
      return { path, rows: rows.length }
    },
  )
}
