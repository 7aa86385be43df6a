/** Leading white space, comments and empty statements, as SQLite's own tokenizer skips them. */
const SKIPPED = /^(?:[ \t\n\f\r;\uFEFF]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*/
/** What may stand between two quotes or comments; a quote inside quotes is doubled, which reads as two in a row. */
const TOKEN =
  /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[^'"`[;/-]+|[/-]/gy

export interface ParsedStatement {
  /** The first word in capitals: in SQLite it alone decides the kind of a statement. */
  readonly keyword: string
  /** Without what stands before and after it. */
  readonly text: string
  /** Something besides comments comes after the semicolon that ends it. */
  readonly hasMore: boolean
}

/**
 * Reads one statement of SQLite. libsql runs the first of several and drops the rest without a word, so somebody must
 * look; what may be done with the statement is not decided here but by the session.
 */
export function parseStatement(sql: string): ParsedStatement {
  const start = SKIPPED.exec(sql)?.[0].length ?? 0
  const rest = sql.slice(start)
  const end = findStatementEnd(rest)
  const tail = rest.slice(end)
  return {
    keyword: /^[A-Za-z]*/.exec(rest)?.[0].toUpperCase() ?? '',
    text: rest.slice(0, end),
    hasMore: (SKIPPED.exec(tail)?.[0].length ?? 0) < tail.length,
  }
}

function findStatementEnd(sql: string): number {
  TOKEN.lastIndex = 0
  for (let piece = TOKEN.exec(sql); piece !== null; piece = TOKEN.exec(sql)) {
    if (piece[0] === ';') return piece.index
  }
  return sql.length
}
