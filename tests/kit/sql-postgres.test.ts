import { ConnectorError, openSqlDatabases, type SqlDatabases } from '@sallyport/kit/connectors'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ADMIN, type PostgresServer, startPostgres } from '../harness/postgres-server.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'

const READER = { role: 'reader', password: 'reader-password-9' }

let server: PostgresServer
let admin: pg.Client
let sql: SqlDatabases

beforeAll(async () => {
  server = await startPostgres()
  admin = new pg.Client(server.url(ADMIN.role, ADMIN.password))
  await admin.connect()
  // The reader owns its tables, so that nothing but the session keeps it from writing.
  await admin.query(`
    CREATE ROLE ${READER.role} LOGIN PASSWORD '${READER.password}';
    GRANT CREATE ON SCHEMA public TO ${READER.role};
    SET ROLE ${READER.role};
    CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL DEFAULT 'x');
    CREATE TABLE sale (id bigint PRIMARY KEY, customer int REFERENCES customer, amount numeric(20, 2));
    CREATE VIEW big AS SELECT * FROM sale WHERE amount > 10;
    CREATE TABLE "Od""d" (a int);
    CREATE SEQUENCE counter;
    INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
    INSERT INTO sale VALUES (1, 1, 1.50), (9007199254740993, 2, 12345678901234567.10);
    CREATE FUNCTION sneak() RETURNS int LANGUAGE sql AS $$ INSERT INTO customer VALUES (99, 'sneak') RETURNING id $$;
    RESET ROLE;
    CREATE FUNCTION lend_write() RETURNS int LANGUAGE sql SECURITY DEFINER
      AS $$ INSERT INTO customer VALUES (98, 'lent') RETURNING id $$;
    CREATE FUNCTION lend_file() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ SELECT pg_read_file('PG_VERSION') $$;`)
})

afterAll(async () => {
  await admin?.end()
  await server?.close()
})

beforeEach(() => {
  const postgres = server.url(READER.role, READER.password)
  sql = openSqlDatabases({ databases: { shop: { postgres }, open: { postgres, access: 'write' } } })
})

afterEach(async () => {
  await sql.close()
  // The server needs a moment to end a session that was left.
  await eventually(sessions, (count) => count === 0)
})

const sessions = async (): Promise<number> =>
  (await admin.query(`SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = '${READER.role}'`)).rows[0].n

const rowsOf = async (text: string, parameters: readonly (string | number | boolean | null)[] = []) =>
  (await sql.query('shop', text, { parameters })).rows

const refusal = async (work: Promise<unknown>): Promise<ConnectorError> => {
  const error = await work.then(
    (value) => expect.fail(`it was not refused: ${JSON.stringify(value)}`),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(ConnectorError)
  for (const secret of [READER.password, ADMIN.password, '/tmp']) expect(error.message).not.toContain(secret)
  return error
}

const state = async (): Promise<string> =>
  JSON.stringify(
    (
      await admin.query(`SELECT (SELECT json_agg(c) FROM customer c) AS c, (SELECT json_agg(s) FROM sale s) AS s,
    (SELECT last_value FROM counter) AS n, (SELECT count(*) FROM pg_class) AS k`)
    ).rows,
  )

describe('reading', () => {
  test(`${promise('KIT-7')} a SELECT, a WITH, VALUES, SHOW and EXPLAIN are answered`, async () => {
    expect(await rowsOf('SELECT name FROM customer ORDER BY id')).toEqual([{ name: 'Ann' }, { name: 'Bob' }])
    expect(await rowsOf('WITH c AS (SELECT * FROM customer) SELECT count(*) AS n FROM c')).toEqual([{ n: 2 }])
    expect(await rowsOf('VALUES (1)')).toEqual([{ column1: 1 }])
    expect(await rowsOf('SHOW transaction_read_only')).toEqual([{ transaction_read_only: 'on' }])
    expect((await rowsOf('EXPLAIN SELECT 1')).length).toBeGreaterThan(0)
  })

  test('a semicolon in a literal, a comment or a dollar quote, or at the end, ends nothing else', async () => {
    expect(await rowsOf("SELECT 'a;b' AS t; -- ; \n /* ; */ ;")).toEqual([{ t: 'a;b' }])
    expect(await rowsOf('SELECT $x$;$x$ AS t, 1 AS ";" /* /* ; */ ; */')).toEqual([{ t: ';', ';': 1 }])
  })

  test('two statements are refused by the server', async () => {
    for (const second of ['SELECT 2', 'DELETE FROM sale', 'COMMIT'])
      expect((await refusal(sql.query('shop', `SELECT 1; ${second}`))).message).toContain('multiple commands')
    expect(await sql.query('shop', ' -- nothing')).toEqual({ columns: [], rows: [], isCut: false })
  })

  test('parameters go by position and are never read as SQL', async () => {
    expect(await rowsOf('SELECT id FROM customer WHERE name = $1 OR id = $2', ["Ann' OR 1=1 --", 2])).toEqual([
      { id: 2 },
    ])
    expect(await rowsOf('SELECT $1::int AS a, $2::numeric AS b, $3::bool AS c', [null, 1.5, true])).toEqual([
      { a: null, b: '1.5', c: true },
    ])
    expect(await refusal(sql.query('shop', 'SELECT $1::int', { parameters: ['x'] }))).toMatchObject({ retryable: true })
    expect(await refusal(sql.query('shop', 'SELECT $1::int, $2::int', { parameters: [1] }))).toBeDefined()
  })

  test('unusual characters in a statement or a parameter do no harm', async () => {
    expect(await refusal(sql.query('shop', 'SELECT 1\0; DROP TABLE sale'))).toMatchObject({ retryable: true })
    expect(await refusal(sql.query('shop', 'SELECT $1::text', { parameters: ['a\0b'] }))).toMatchObject({
      retryable: true,
    })
    expect(await rowsOf('SELECT $1::text AS a', ['\ud800'])).toEqual([{ a: '\ufffd' }])
  })

  test('no value loses anything on its way into JSON', async () => {
    expect(await rowsOf('SELECT * FROM sale ORDER BY id')).toEqual([
      { id: 1, customer: 1, amount: '1.50' },
      { id: '9007199254740993', customer: 2, amount: '12345678901234567.10' },
    ])
    expect(
      await rowsOf(`SELECT '\\x00ff'::bytea AS raw, date '2024-02-29' AS d, timestamptz '2024-01-01 00:00:00.123456+02' AS t,
        interval '1 day 2 hours' AS i, '{"a": [1, "x"]}'::jsonb AS j, '{"a": 12345678901234567890}'::json AS k,
        '{1,NULL,9007199254740993}'::bigint[] AS l, '{{"a\\"b","NULL"},{c,NULL}}'::text[] AS m, '{}'::int[] AS e,
        'NaN'::float8 AS n, 0.1::float8 AS f, 'infinity'::float8 AS inf, true AS b, '1.10'::numeric AS s,
        1 AS a, 2 AS a, '10.0.0.1'::inet AS o`),
    ).toEqual([
      {
        raw: '\\x00ff',
        d: '2024-02-29',
        t: expect.stringContaining('.123456+'),
        i: '1 day 02:00:00',
        j: { a: [1, 'x'] },
        k: '{"a": 12345678901234567890}',
        l: [1, null, '9007199254740993'],
        m: [
          ['a"b', 'NULL'],
          ['c', null],
        ],
        e: [],
        n: 'NaN',
        f: 0.1,
        inf: 'Infinity',
        b: true,
        s: '1.10',
        a: 1,
        a_2: 2,
        o: '10.0.0.1',
      },
    ])
  })

  test('tables and views are listed, described and sampled', async () => {
    expect(await sql.listTables('shop')).toEqual([
      { name: '"Od""d"', kind: 'table' },
      { name: 'big', kind: 'view' },
      { name: 'customer', kind: 'table' },
      { name: 'sale', kind: 'table' },
    ])
    expect(await sql.describeTable('shop', 'public.sale')).toEqual({
      name: 'public.sale',
      columns: [
        { name: 'id', type: 'bigint', nullable: false, primaryKey: true },
        { name: 'customer', type: 'integer', nullable: true, primaryKey: false },
        { name: 'amount', type: 'numeric(20,2)', nullable: true, primaryKey: false },
      ],
      foreignKeys: [{ columns: ['customer'], table: 'customer', references: ['id'] }],
    })
    expect(await sql.sample('shop', 'customer', { maxRows: 1 })).toMatchObject({ rows: [{ id: 1 }], isCut: true })
    expect(await sql.sample('shop', '"Od""d"')).toMatchObject({ rows: [], isCut: false })
    for (const table of ['nothing', 'sale; DROP TABLE sale', 'a.b.c.d'])
      expect(await refusal(sql.sample('shop', table))).toMatchObject({ retryable: true })
  })
})

describe('a database that may only be read', () => {
  test.each([
    'INSERT INTO customer VALUES (3)',
    'WITH x AS (INSERT INTO customer VALUES (3) RETURNING *) SELECT * FROM x',
    'UPDATE customer SET name = 1',
    'DROP TABLE customer CASCADE',
    'CREATE TABLE t (a int)',
    'CREATE TEMP TABLE t (a int)',
    'SELECT * INTO t FROM customer',
    'SELECT sneak()',
    'SELECT lend_write()',
    "SELECT nextval('counter')",
    "SELECT setval('counter', 7)",
    'SET TRANSACTION READ WRITE',
    "SELECT set_config('transaction_read_only', 'off', false)",
    "DO $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO customer VALUES (3); END $$",
    'DO $$ BEGIN COMMIT; SET TRANSACTION READ WRITE; INSERT INTO customer VALUES (3); END $$',
    'EXPLAIN ANALYZE INSERT INTO customer VALUES (3)',
    'SELECT * FROM customer FOR UPDATE',
    "COPY customer FROM PROGRAM 'true'",
    "COPY customer TO PROGRAM 'true'",
    'COPY customer FROM STDIN',
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    'SELECT lo_create(0)',
    'VACUUM customer',
    'CREATE EXTENSION dblink',
  ])('refuses %s', async (statement) => {
    const before = await state()
    expect(await refusal(sql.query('shop', statement))).toBeDefined()
    expect(await state()).toBe(before)
  })

  test(`${promise('KIT-7')} what a statement changes in its session does not affect the next`, async () => {
    for (const statement of [
      'COMMIT',
      'ROLLBACK',
      'SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE',
      'SET default_transaction_read_only = off',
      'SET statement_timeout = 0',
      'SELECT pg_advisory_lock(7)',
      'LISTEN news',
      'PREPARE p AS SELECT 1',
      'COMMIT AND CHAIN',
    ]) {
      await sql.query('shop', statement)
      // Asked of the session while it is idle, and before anything fails in it.
      const left = await admin.query(`SELECT count(*)::int AS locks FROM pg_locks WHERE locktype = 'advisory'`)
      expect(left.rows).toEqual([{ locks: 0 }])
      expect(await rowsOf('SELECT count(*) AS n FROM pg_prepared_statements WHERE from_sql')).toEqual([{ n: 0 }])
      expect(await rowsOf('SELECT pg_listening_channels() AS c')).toEqual([])
      await refusal(sql.query('shop', 'INSERT INTO customer VALUES (3)'))
      expect(await rowsOf('SHOW default_transaction_read_only')).toEqual([{ default_transaction_read_only: 'on' }])
    }
    expect(await refusal(sql.query('shop', 'EXECUTE p'))).toMatchObject({ retryable: true })
  })

  test('what docs/kit/sql.md says is not refused: other sessions of its role, and rights that a function lends', async () => {
    const other = new pg.Client(server.url(READER.role, READER.password))
    other.on('error', () => undefined)
    const ended = new Promise((resolve) => other.once('end', resolve))
    await other.connect()
    const pidOf = async (client: pg.Client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
    const [own, foreign] = [await pidOf(other), await pidOf(admin)]
    await refusal(sql.query('shop', 'SELECT pg_terminate_backend($1)', { parameters: [foreign] }))
    expect(await rowsOf('SELECT pg_terminate_backend($1) AS ended', [own])).toEqual([{ ended: true }])
    await ended
    expect(await rowsOf('SELECT lend_file() AS text')).toEqual([{ text: expect.stringMatching(/^\d+\n$/) }])
  })

  test('what docs/kit/sql.md says of dblink: it writes outside the transaction, for whoever has a password', async () => {
    await admin.query('CREATE EXTENSION dblink')
    const write = "INSERT INTO customer VALUES (97, 'linked')"
    const link = (address: string) => sql.query('shop', 'SELECT dblink_exec($1, $2)', { parameters: [address, write] })
    await refusal(link(server.url(READER.role, '')))
    await link(server.url(READER.role, READER.password))
    expect((await admin.query('DELETE FROM customer WHERE id = 97')).rowCount).toBe(1)
    await admin.query('DROP EXTENSION dblink')
  })

  test('a notification that it sends is never delivered', async () => {
    const received: unknown[] = []
    admin.on('notification', (notice) => received.push(notice.payload))
    await admin.query('LISTEN news')
    await sql.query('shop', "SELECT pg_notify('news', 'leaked')")
    await admin.query("NOTIFY news, 'end'")
    await eventually(
      () => received,
      (all) => all.includes('end'),
    )
    expect(received).toEqual(['end'])
    await admin.query('UNLISTEN news')
  })

  test('a role that could run programs at the server is refused', async () => {
    const postgres = server.url(ADMIN.role, ADMIN.password)
    const mighty = openSqlDatabases({
      databases: { main: { postgres }, knowingly: { postgres, allowSuperuser: true } },
    })
    try {
      const error = await refusal(mighty.query('main', 'SELECT 1'))
      expect(error.retryable).toBe(false)
      expect(error.message).toContain('Use a role that may only read')
      expect((await mighty.query('knowingly', 'SELECT 1 AS a')).rows).toEqual([{ a: 1 }])
    } finally {
      await mighty.close()
    }
  })
})

test('a writable database executes statements', async () => {
  expect(await sql.execute('open', "INSERT INTO customer VALUES (7, 'Zoe'), (8, 'Yan') RETURNING id")).toMatchObject({
    changed: 2,
    rows: [{ id: 7 }, { id: 8 }],
  })
  await refusal(sql.execute('open', "INSERT INTO customer VALUES (9, 'a'), (7, 'b')"))
  expect(await sql.execute('open', 'DELETE FROM customer WHERE id > $1', { parameters: [2] })).toMatchObject({
    changed: 2,
  })
  expect(await refusal(sql.execute('shop', 'DELETE FROM customer'))).toMatchObject({ retryable: true })
})

describe('limits', () => {
  test('ten million rows are never all in memory', async () => {
    const cut = await sql.query('shop', 'SELECT * FROM generate_series(1, 10000000) AS n', { maxRows: 250 })
    expect([cut.rows.length, cut.isCut, cut.rows.at(-1)]).toEqual([250, true, { n: 250 }])
    const byBytes = await sql.query('shop', "SELECT repeat('x', 1000) AS t FROM generate_series(1, 10000000)", {
      maxBytes: 10_100,
    })
    expect([byBytes.rows.length, byBytes.isCut]).toEqual([10, true])
  })

  test('one row that is too large is not read into memory either', async () => {
    const error = await refusal(sql.query('shop', "SELECT repeat('x', 50000000) AS t", { maxBytes: 10_000 }))
    expect(error.message).toContain('too large')
    expect(await rowsOf('SELECT 1 AS a')).toEqual([{ a: 1 }])
  })

  test('a document that is too deep or too long to be parsed is a string', async () => {
    const [deep] = await rowsOf("SELECT (repeat('[', 5000) || repeat(']', 5000))::json AS d")
    expect(deep?.d).toBe('['.repeat(5_000) + ']'.repeat(5_000))
    const long = await sql.query('shop', "SELECT to_json(repeat('x', 20000000)) AS d", { maxBytes: 30_000_000 })
    expect(String(long.rows[0]?.d)).toHaveLength(20_000_002)
  })

  test('a row that cannot be read is an error of its query only', async () => {
    const nested = `SELECT ARRAY[repeat('"', 12000000)] AS d`
    await sql.query('shop', nested, { maxBytes: 60_000_000 }).catch((error) => {
      expect(error).toBeInstanceOf(ConnectorError)
      expect(error.message).toContain('cannot be read')
    })
    expect(await rowsOf('SELECT 1 AS a')).toEqual([{ a: 1 }])
  })

  test('a slow query is stopped after its timeout', async () => {
    const error = await refusal(sql.query('shop', 'SELECT pg_sleep(60)', { timeoutMs: 300 }))
    expect(error.message).toContain('300 ms')
    expect(await rowsOf('SELECT 1 AS a')).toEqual([{ a: 1 }])
  })

  test('an aborted query ends at the server', async () => {
    const control = new AbortController()
    const running = refusal(sql.query('shop', 'SELECT pg_sleep(60)', { signal: control.signal }))
    const active = async () =>
      (
        await admin.query(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'",
        )
      ).rows[0].n
    await eventually(active, (count) => count === 1)
    control.abort()
    expect((await running).message).toContain('cancelled')
    expect(await active()).toBe(0)
    expect((await refusal(sql.query('shop', 'SELECT 1', { signal: control.signal }))).message).toContain('cancelled')
  })

  test('more callers than connections all get an answer', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => rowsOf('SELECT $1::int AS n', [n])))
    expect(answers).toEqual(Array.from({ length: 12 }, (_, n) => [{ n }]))
    expect(await sessions()).toBeLessThanOrEqual(4)
  })
})

describe('errors', () => {
  test('a wrong statement is answered with the message of the database', async () => {
    const error = await refusal(sql.query('shop', 'SELEC 1'))
    expect(error).toMatchObject({
      retryable: true,
      message: expect.stringContaining('syntax error at or near "SELEC" at character 1'),
    })
    expect(await refusal(sql.query('shop', 'SELECT 1/0'))).toMatchObject({ retryable: true })
  })

  test('a wrong password and a missing server are not reported as errors of the statement', async () => {
    const wrong = openSqlDatabases({
      databases: {
        password: { postgres: server.url(READER.role, 'wrong-password-3') },
        absent: { postgres: 'postgres://reader:hidden-password@127.0.0.1:1/postgres' },
      },
    })
    try {
      for (const name of ['password', 'absent']) {
        const error = await refusal(wrong.query(name, 'SELECT 1'))
        expect(error.retryable).toBe(false)
        expect(`${error.message} ${JSON.stringify(error)} ${error.stack} ${error.cause}`).not.toMatch(
          /password-3|hidden|127\.0/,
        )
      }
    } finally {
      await wrong.close()
    }
  })

  test('a session that the server ends does not harm the next', async () => {
    const running = refusal(sql.query('shop', 'SELECT pg_sleep(60) AS killed'))
    await eventually(
      async () =>
        (
          await admin.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS killed' AND pid <> pg_backend_pid()",
          )
        ).rowCount,
      (count) => count === 1,
    )
    expect((await running).retryable).toBe(false)
    expect(await rowsOf('SELECT 1 AS a')).toEqual([{ a: 1 }])
  })
})
