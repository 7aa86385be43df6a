import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseStatement } from './sql-statement.ts'

test.each([
  ['SELECT 1', 'SELECT', 'SELECT 1', false],
  [' ;; -- x\n/* y */select 1 ; ; -- z', 'SELECT', 'select 1 ', false],
  ['SELECT \';\', ";", `;`, [;] -- ;\n, 1 /* ; */', 'SELECT', 'SELECT \';\', ";", `;`, [;] -- ;\n, 1 /* ; */', false],
  ["SELECT 'it''s;'; DELETE", 'SELECT', "SELECT 'it''s;'", true],
  ['SELECT 1 /* not closed ; DELETE', 'SELECT', 'SELECT 1 /* not closed ; DELETE', false],
  ['-- a return ends no comment\rSELECT 1\nPRAGMA x', 'PRAGMA', 'PRAGMA x', false],
  ['/* none */', '', '', false],
  ['', '', '', false],
  ['(SELECT 1)', '', '(SELECT 1)', false],
  ['SELECT 4-1/2;x', 'SELECT', 'SELECT 4-1/2', true],
])('%j is the statement %s', (sql, keyword, text, hasMore) => {
  expect(parseStatement(sql)).toEqual({ keyword, text, hasMore })
})

test('a second statement is found, whatever is inside quotes or comments', () => {
  const quoted = fc.oneof(
    fc.string().map((text) => `'${text.replaceAll("'", "''")}'`),
    fc.string().map((text) => `"${text.replaceAll('"', '""')}"`),
    fc.string().map((text) => `/*${text.replaceAll('*/', '')} */`),
    fc.string().map((text) => `--${text.replaceAll('\n', '')}\n`),
  )
  fc.assert(
    fc.property(fc.array(quoted), (parts) => {
      const sql = `SELECT ${parts.join(' ')}`
      expect(parseStatement(sql)).toEqual({ keyword: 'SELECT', text: sql, hasMore: false })
      expect(parseStatement(`${sql};DROP TABLE t`)).toEqual({ keyword: 'SELECT', text: sql, hasMore: true })
    }),
  )
})

test('a long text is parsed in linear time', () => {
  expect(parseStatement(`SELECT '${"''".repeat(500_000)}'; ${'-- x\n'.repeat(100_000)}`).hasMore).toBe(false)
})
