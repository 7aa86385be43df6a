import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SqlSettings } from '@sallyport/kit/connectors'
import Database from 'libsql'

/** The databases of a folder, for SqlConnector.configure. */
export function databasesIn(folder: string): SqlSettings {
  return {
    databases: {
      records: { sqlite: join(folder, 'records.db'), description: 'Teas, and who grows them' },
      // With `sensitivity`, every query of this database raises the label of the session.
      people: { sqlite: join(folder, 'people.db'), sensitivity: 'CONFIDENTIAL' },
    },
  }
}

const TEAS = ['Oolong', 'Assam', 'Sencha', 'Darjeeling', 'Keemun']

/** Creates the databases with sample data. Existing tables are replaced. */
export async function makeDatabases(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  createTable(join(folder, 'records.db'), 'CREATE TABLE record (id INTEGER PRIMARY KEY, title TEXT, text TEXT)', {
    sql: 'INSERT INTO record VALUES (?, ?, ?)',
    rows: Array.from({ length: 200 }, (_, at) => {
      const tea = TEAS[at % TEAS.length]
      return [at + 1, `${tea}, harvest ${1826 + at}`, `What growers wrote about ${tea} in ${1826 + at}.`]
    }),
  })
  createTable(join(folder, 'people.db'), 'CREATE TABLE salary (name TEXT, salary INTEGER)', {
    sql: 'INSERT INTO salary VALUES (?, ?)',
    rows: [
      ['Ada', 5200],
      ['Bob', 4100],
      ['Cho', 4700],
    ],
  })
}

interface SampleRows {
  readonly sql: string
  readonly rows: readonly (readonly unknown[])[]
}

function createTable(file: string, schema: string, { sql, rows }: SampleRows): void {
  const database = new Database(file)
  try {
    const table = /TABLE (\w+)/.exec(schema)?.[1]
    database.exec(`DROP TABLE IF EXISTS ${table}; ${schema}; BEGIN`)
    const insert = database.prepare(sql)
    for (const row of rows) insert.run(...row)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}
