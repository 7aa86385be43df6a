import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWorkspace } from '@sallyport/kit'
import { ConnectorError, openSqlDatabases, SqlConnector, type SqlDatabases } from '@sallyport/kit/connectors'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually, processesWith } from '../harness/processes.ts'
import { promise } from '../promises.ts'

const PROGRAM = 'connectors/sql/sqlite-process.js'

let folder: string
let sql: SqlDatabases

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sql #1?%-'))
  make(
    'shop.db',
    `CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x');
     CREATE TABLE sale (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer (id), amount REAL, note, raw BLOB);
     CREATE VIEW big AS SELECT * FROM sale WHERE amount > 10;
     CREATE TABLE "od""d name" (a);
     INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
     INSERT INTO sale VALUES (1, 1, 1.5, 'a;b', x'00ff'), (9007199254740993, 2, 20, NULL, NULL);`,
  )
  sql = openSqlDatabases({
    databases: {
      shop: { sqlite: join(folder, 'shop.db') },
      open: { sqlite: join(folder, 'shop.db'), access: 'write' },
    },
    workspace: () => createWorkspace(folder),
  })
})

afterEach(async () => {
  await sql.close()
  rmSync(folder, { recursive: true })
})

function make(name: string, script: string): void {
  const Database = createRequire(import.meta.url)('libsql')
  const database = new Database(join(folder, name))
  database.exec(script)
  database.close()
}

const rowsOf = async (text: string, parameters: readonly (string | number | boolean | null)[] = []) =>
  (await sql.query('shop', text, { parameters })).rows

const refusal = async (work: Promise<unknown>): Promise<ConnectorError> => {
  const error = await work.then(
    (value) => expect.fail(`it was not refused: ${JSON.stringify(value)}`),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(ConnectorError)
  expect(error.message).not.toContain(folder)
  return error
}

describe('reading', () => {
  test(`${promise('KIT-7')} a SELECT, a WITH, VALUES and a recursive query are answered`, async () => {
    expect(await rowsOf('SELECT name FROM customer ORDER BY id')).toEqual([{ name: 'Ann' }, { name: 'Bob' }])
    expect(await rowsOf('WITH c AS (SELECT * FROM customer) SELECT count(*) AS n FROM c')).toEqual([{ n: 2 }])
    expect(await rowsOf('VALUES (1)')).toEqual([{ column1: 1 }])
    expect(
      await rowsOf('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 4) SELECT sum(x) AS s FROM c'),
    ).toEqual([{ s: 10 }])
    expect(await rowsOf("SELECT value FROM json_each('[1,2]')")).toEqual([{ value: 1 }, { value: 2 }])
  })

  test('a semicolon in a literal, in a name, in a comment or at the end ends nothing else', async () => {
    expect(await rowsOf("SELECT id FROM sale WHERE note = 'a;b';")).toEqual([{ id: 1 }])
    expect(await rowsOf('SELECT 1 AS "a;b"; -- and; that is all\n /* ; */ ;')).toEqual([{ 'a;b': 1 }])
    expect(await rowsOf("/* ; */ -- ;\n;SELECT 'it''s; so' AS t /* ; */")).toEqual([{ t: "it's; so" }])
  })

  test('two statements are refused, whatever the second is', async () => {
    for (const second of ['SELECT 2', 'DELETE FROM sale', 'nonsense'])
      expect(await refusal(sql.query('shop', `SELECT 1; ${second}`))).toMatchObject({ retryable: true })
  })

  test('parameters go by position and are never read as SQL', async () => {
    const hostile = "Ann' OR 1=1 --"
    expect(await rowsOf('SELECT id FROM customer WHERE name = ? OR id = ?', [hostile, 2])).toEqual([{ id: 2 }])
    expect(await rowsOf('SELECT ? AS a, ? AS b, ? AS c, typeof(?) AS d', [null, 1.5, true, 7])).toEqual([
      { a: null, b: 1.5, c: 1, d: 'integer' },
    ])
  })

  test('unusual characters in a statement or a parameter do no harm', async () => {
    expect(await refusal(sql.query('shop', 'SELECT 1\0; DROP TABLE sale'))).toMatchObject({ retryable: true })
    expect(await rowsOf("SELECT '\ud800' AS a, ? AS b, ? AS c", ['\udfff', '\u{1f600}'])).toEqual([
      { a: '\ufffd', b: '\ufffd', c: '\u{1f600}' },
    ])
    const missing = await refusal(sql.query('shop', 'SELECT ? AS a, ? AS b', { parameters: [1] }))
    expect(missing.message).toContain('parameter 2 is missing')
  })

  test('no value loses anything on its way into JSON', async () => {
    expect(await rowsOf('SELECT id, raw FROM sale ORDER BY id')).toEqual([
      { id: 1, raw: '\\x00ff' },
      { id: '9007199254740993', raw: null },
    ])
    expect(await rowsOf('SELECT 9e999 AS i, -9223372036854775808 AS m, 1 AS a, 2 AS a, 3 AS a_2')).toEqual([
      { i: 'Infinity', m: '-9223372036854775808', a: 1, a_3: 2, a_2: 3 },
    ])
    expect(JSON.stringify(await rowsOf('SELECT 1 AS __proto__'))).toBe('[{"__proto__":1}]')
  })

  test('tables and views are listed, described and sampled', async () => {
    expect(await sql.listTables('shop')).toEqual([
      { name: 'big', kind: 'view' },
      { name: 'customer', kind: 'table' },
      { name: 'od"d name', kind: 'table' },
      { name: 'sale', kind: 'table' },
    ])
    expect(await sql.describeTable('shop', 'customer')).toEqual({
      name: 'customer',
      columns: [
        { name: 'id', type: 'INTEGER', nullable: true, primaryKey: true },
        { name: 'name', type: 'TEXT', nullable: false, primaryKey: false, default: "'x'" },
      ],
      foreignKeys: [],
    })
    expect((await sql.describeTable('shop', 'sale')).foreignKeys).toEqual([
      { columns: ['customer'], table: 'customer', references: ['id'] },
    ])
    expect(await sql.sample('shop', 'customer', { maxRows: 1 })).toMatchObject({
      rows: [{ id: 1, name: 'Ann' }],
      isCut: true,
    })
    expect(await sql.sample('shop', 'od"d name')).toMatchObject({ rows: [], isCut: false })
    expect(await refusal(sql.sample('shop', 'sale; DROP TABLE sale'))).toMatchObject({ retryable: true })
    expect(await refusal(sql.describeTable('shop', 'nothing'))).toMatchObject({ retryable: true })
  })
})

describe('a database that may only be read', () => {
  const fileBytes = () => readFileSync(join(folder, 'shop.db'))

  test.each([
    'INSERT INTO customer (name) VALUES (1)',
    'WITH x AS (SELECT 1) INSERT INTO customer (name) SELECT * FROM x',
    'WITH x AS (SELECT 1) DELETE FROM customer',
    'UPDATE customer SET name = 1',
    'DROP TABLE customer',
    'CREATE TABLE t (a)',
    'CREATE TEMP TABLE t (a)',
    'PRAGMA query_only = OFF',
    'PRAGMA writable_schema = ON',
    'EXPLAIN PRAGMA hard_heap_limit = 1',
    "VACUUM INTO 'other.db'",
    'BEGIN',
    'REINDEX',
    '-- x\rSELECT 1\nPRAGMA query_only = OFF',
  ])('refuses %s', async (statement) => {
    const bytes = fileBytes()
    expect(await refusal(sql.query('shop', statement))).toMatchObject({ retryable: true })
    expect(fileBytes()).toEqual(bytes)
  })

  test(`${promise('KIT-7')} reaches no other file: not by ATTACH, not by a function, not by a table of files`, async () => {
    make('other.db', 'CREATE TABLE secret (a); INSERT INTO secret VALUES (42)')
    const other = join(folder, 'other.db')
    const made = join(folder, 'made.db')
    for (const statement of [
      `ATTACH '${other}' AS o`,
      `ATTACH '${made}' AS o`,
      `SELECT readfile('${other}')`,
      `SELECT "readfile"('${other}')`,
      `SELECT READFILE(name) FROM customer`,
      `SELECT * FROM customer WHERE readfile('${other}') IS NULL ORDER BY writefile('${made}', 'x')`,
      `SELECT writefile('${made}', 'x')`,
      `SELECT sha3_query('SELECT 1')`,
      `SELECT load_extension('${other}')`,
      `SELECT name FROM fsdir('${folder}')`,
      `SELECT name FROM main.fsdir('${folder}') AS json_each`,
      `SELECT value FROM json_each('[1]'), (SELECT * FROM fsdir('${folder}'))`,
      `WITH json_each AS (SELECT * FROM fsdir('${folder}')) SELECT * FROM json_each`,
    ])
      expect(await refusal(sql.query('shop', statement)), statement).toMatchObject({ retryable: true })
    expect(existsSync(made)).toBe(false)
  })

  test('a view or a trigger of the file itself reaches no other file either', async () => {
    make(
      'trap.db',
      `CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT readfile('/etc/passwd') AS p FROM t;
       CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT writefile('${join(folder, 'made')}', 'x'); END`,
    )
    const trap = openSqlDatabases({ databases: { trap: { sqlite: join(folder, 'trap.db'), access: 'write' } } })
    try {
      await refusal(trap.query('trap', 'SELECT * FROM v'))
      await refusal(trap.execute('trap', 'INSERT INTO t VALUES (2)'))
      expect(existsSync(join(folder, 'made'))).toBe(false)
    } finally {
      await trap.close()
    }
  })

  test.each([
    [
      'a table',
      "CREATE TABLE pragma_table_list (schema, name, type); INSERT INTO pragma_table_list VALUES ('main', 'fsdir', 'virtual')",
    ],
    ['a view', "CREATE VIEW pragma_table_list AS SELECT 'main' AS schema, 'fsdir' AS name, 'virtual' AS type"],
    ['an index', "CREATE VIRTUAL TABLE fsdir USING fts5(name, data, content='fsdir', content_rowid='path')"],
  ])('%s that is named like one of SQLite’s own does not make a table of files harmless', async (_, script) => {
    writeFileSync(join(folder, 'secret.txt'), 'of the host')
    make('trap.db', `CREATE TABLE t (a); ${script}`)
    for (const schema of ['', 'main.', 'temp.'])
      await refusal(sql.query('/workspace/trap.db', `SELECT data FROM ${schema}fsdir('${folder}/secret.txt')`))
    expect((await sql.query('/workspace/trap.db', "SELECT value FROM json_each('[7]')")).rows).toEqual([{ value: 7 }])
  })

  test('a full-text index of the file itself can be searched', async () => {
    make('notes.db', "CREATE VIRTUAL TABLE note USING fts5(words); INSERT INTO note VALUES ('red fox'), ('blue whale')")
    const found = await sql.query('/workspace/notes.db', "SELECT words FROM note WHERE note MATCH 'fox'")
    expect(found.rows).toEqual([{ words: 'red fox' }])
  })

  test('execute is refused before the database is contacted', async () => {
    expect(await refusal(sql.execute('shop', 'DELETE FROM sale'))).toMatchObject({ retryable: true })
  })
})

describe('a database that may be written', () => {
  test('can be given other tables, views and indexes', async () => {
    for (const statement of [
      'CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL)',
      'CREATE TABLE IF NOT EXISTS item (id INTEGER)',
      'CREATE TABLE copied AS SELECT * FROM customer',
      'CREATE TABLE "it\'s; odd" (a)',
      'CREATE INDEX item_name ON item (name)',
      'CREATE VIEW names AS SELECT name FROM item',
      'ALTER TABLE item ADD COLUMN note TEXT',
      'ALTER TABLE item RENAME COLUMN name TO title',
      'ALTER TABLE item DROP COLUMN price',
      'ALTER TABLE item RENAME TO product',
      "INSERT INTO product (title) VALUES ('a')",
    ])
      await sql.execute('open', statement)
    expect(await rowsOf('SELECT * FROM names')).toEqual([{ title: 'a' }])
    expect(await rowsOf('SELECT * FROM product')).toEqual([{ id: 1, title: 'a', note: null }])
    for (const statement of ['DROP VIEW names', 'DROP INDEX item_name', 'DROP TABLE product', 'DROP TABLE copied'])
      await sql.execute('open', statement)
    await refusal(sql.query('shop', 'SELECT * FROM product'))
  })

  test('cannot be given what runs code of its own, or reaches a file', async () => {
    const made = join(folder, 'made')
    await sql.execute('open', `CREATE TABLE trap (a, b DEFAULT (writefile('${made}', 'x')))`)
    await sql.execute('open', "CREATE VIEW peek AS SELECT readfile('/etc/passwd') AS p")
    for (const statement of [
      'INSERT INTO trap (a) VALUES (1)',
      'SELECT * FROM peek',
      'CREATE TABLE stolen AS SELECT * FROM peek',
      'CREATE VIRTUAL TABLE words USING fts5(x)',
      'CREATE TRIGGER t AFTER INSERT ON customer BEGIN SELECT 1; END',
      "SELECT sqlite_rename_table('main', 'table', 'x', 'CREATE TABLE x(a)', 'x', 'y', 0)",
      `ALTER TABLE customer ADD COLUMN q DEFAULT (writefile('${made}', 'x'))`,
    ])
      await refusal(sql.execute('open', statement))
    expect(existsSync(made)).toBe(false)
  })

  test('executes statements, and reaches no other file', async () => {
    expect(await sql.execute('open', 'UPDATE customer SET name = ?', { parameters: ['Eve'] })).toMatchObject({
      changed: 2,
    })
    expect(await sql.execute('open', "INSERT INTO customer (name) VALUES ('Zoe') RETURNING id")).toMatchObject({
      rows: [{ id: 3 }],
    })
    expect(await rowsOf('SELECT name FROM customer WHERE id > 1')).toEqual([{ name: 'Eve' }, { name: 'Zoe' }])
    for (const statement of [`ATTACH '${join(folder, 'x.db')}' AS x`, `VACUUM INTO '${join(folder, 'x.db')}'`])
      await refusal(sql.execute('open', statement))
    expect(readdirSync(folder).filter((name) => name.startsWith('x'))).toEqual([])
  })

  test('a statement that fails half-way changes nothing', async () => {
    await refusal(sql.execute('open', "INSERT INTO customer VALUES (7, 'a'), (1, 'b')"))
    expect(await rowsOf('SELECT count(*) AS n FROM customer')).toEqual([{ n: 2 }])
  })
})

describe('limits', () => {
  const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)'

  test('an endless result is cut at the limits for rows and bytes', async () => {
    const byRows = await sql.query('shop', `${ENDLESS} SELECT x FROM c`, { maxRows: 250 })
    expect([byRows.rows.length, byRows.isCut]).toEqual([250, true])
    const byBytes = await sql.query('shop', `${ENDLESS} SELECT hex(zeroblob(500)) AS t FROM c`, { maxBytes: 10_100 })
    expect([byBytes.rows.length, byBytes.isCut]).toEqual([10, true])
  })

  test('an endless query is stopped after its timeout, and the next one works', async () => {
    const error = await refusal(sql.query('shop', `${ENDLESS} SELECT count(*) FROM c`, { timeoutMs: 500 }))
    expect(error.message).toContain('500 ms')
    expect(await rowsOf('SELECT 1 AS a')).toEqual([{ a: 1 }])
  })

  test('an aborted query ends its process, also while others wait for their turn', async () => {
    const control = new AbortController()
    const endless = Array.from({ length: 6 }, () =>
      refusal(sql.query('shop', `${ENDLESS} SELECT count(*) FROM c`, { signal: control.signal })),
    )
    const waiting = rowsOf('SELECT 1 AS a')
    await eventually(
      () => processesWith(PROGRAM),
      (pids) => pids.length >= 4,
    )
    control.abort()
    for (const error of await Promise.all(endless)) expect(error.message).toContain('cancelled')
    expect(await waiting).toEqual([{ a: 1 }])
  })

  test('a statement that kills SQLite kills nothing else', async () => {
    for (const statement of [
      "SELECT CAST(x'ff41' AS TEXT) AS t",
      'SELECT hex(zeroblob(900000000)) AS t',
      "SELECT replace(hex(zeroblob(400000)), '0', hex(zeroblob(200))) AS t",
    ])
      expect(await refusal(sql.query('shop', statement)), statement).toMatchObject({ retryable: true })
    expect(await rowsOf('SELECT 1 AS a')).toEqual([{ a: 1 }])
  })
})

describe('errors', () => {
  test('a wrong statement is answered with the message of the database', async () => {
    const error = await refusal(sql.query('shop', 'SELEC 1'))
    expect(error.retryable).toBe(true)
    expect((await refusal(sql.query('shop', 'SELECT nobody FROM customer'))).message).toContain('no such column')
  })

  test('a file that is missing, or not a database, is not reported as an error of the statement', async () => {
    writeFileSync(
      join(folder, 'text.db'),
      'this is no database, but it is long enough to be looked at as one'.repeat(20),
    )
    const bad = openSqlDatabases({
      databases: { gone: { sqlite: join(folder, 'gone.db') }, text: { sqlite: join(folder, 'text.db') } },
    })
    try {
      for (const name of ['gone', 'text'])
        expect(await refusal(bad.query(name, 'SELECT * FROM t'))).toMatchObject({ retryable: false })
      expect(existsSync(join(folder, 'gone.db'))).toBe(false)
    } finally {
      await bad.close()
    }
  })

  test('an unknown database is reported with the names of the existing ones', async () => {
    expect((await refusal(sql.query('nope', 'SELECT 1'))).message).toContain('shop, open')
  })
})

describe('files of the workspace', () => {
  test('are read by their name in the workspace', async () => {
    expect((await sql.query('/workspace/shop.db', 'SELECT count(*) AS n FROM customer')).rows).toEqual([{ n: 2 }])
    await refusal(sql.query('/workspace/shop.db', 'DELETE FROM customer'))
    await refusal(sql.execute('/workspace/shop.db', 'DELETE FROM customer'))
  })

  test('lead nowhere else', async () => {
    symlinkSync(join(folder, 'shop.db'), join(folder, 'link.db'))
    for (const name of [
      '/workspace/link.db',
      '/workspace/../shop.db',
      '/workspace/%2e%2e/shop.db',
      '/workspace/gone.db',
    ])
      await expect(sql.query(name, 'SELECT 1')).rejects.toThrow()
    await expect(sql.query(join(folder, 'shop.db'), 'SELECT 1')).rejects.toThrow('There is no database')
  })

  test('leave no copy behind', async () => {
    const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith('sallyport-sqlite-'))
    await sql.query('/workspace/shop.db', 'SELECT 1')
    await refusal(sql.query('/workspace/shop.db', 'SELECT nothing'))
    expect(copies()).toEqual([])
  })
})

test('a sensitive database is registered before a row is seen, and shows none if that fails', async () => {
  const registered: unknown[] = []
  const databases = { shop: { sqlite: join(folder, 'shop.db'), sensitivity: 'CONFIDENTIAL' } } as const
  const labelled = openSqlDatabases({ databases, addPrivateDataset: async (...given) => registered.push(given) })
  const broken = openSqlDatabases({ databases, addPrivateDataset: () => Promise.reject(new Error('disk full')) })
  try {
    await labelled.query('shop', 'SELECT 1')
    expect(registered).toEqual([['shop', 'CONFIDENTIAL']])
    await expect(broken.query('shop', 'SELECT 1')).rejects.toThrow('disk full')
  } finally {
    await labelled.close()
    await broken.close()
  }
})

test('SqlConnector serves the configured databases, and leaves no process when closed', async () => {
  expect(() => SqlConnector.listDatabases()).toThrow('no databases')
  SqlConnector.configure({ databases: { shop: { sqlite: join(folder, 'shop.db'), description: 'Sales' } } })
  try {
    expect(() => SqlConnector.configure({ databases: {} })).toThrow('already')
    expect(SqlConnector.listDatabases()).toEqual([
      { name: 'shop', kind: 'sqlite', access: 'read', description: 'Sales' },
    ])
    expect((await SqlConnector.query('shop', 'SELECT 1 AS a')).rows).toEqual([{ a: 1 }])
  } finally {
    await SqlConnector.close()
  }
  await sql.close()
  expect(processesWith(PROGRAM)).toEqual([])
  await expect(sql.query('shop', 'SELECT 1')).rejects.toThrow('closed')
})
