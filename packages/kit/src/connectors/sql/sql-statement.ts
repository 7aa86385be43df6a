/** Leading white space, comments and empty statements, as SQLite's own tokenizer skips them. */
const NOTHING = /^(?:[ \t\n\f\r;\uFEFF]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*/
/** What may stand between two quotes or comments; a quote inside quotes is doubled, which reads as two in a row. */
const PIECE =
  /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[^'"`[;/-]+|[/-]/gy

export interface SqlStatement {
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
export function readStatement(sql: string): SqlStatement {
  const start = NOTHING.exec(sql)?.[0].length ?? 0
  const rest = sql.slice(start)
  const end = statementEnd(rest)
  const tail = rest.slice(end)
  return {
    keyword: /^[A-Za-z]*/.exec(rest)?.[0].toUpperCase() ?? '',
    text: rest.slice(0, end),
    hasMore: (NOTHING.exec(tail)?.[0].length ?? 0) < tail.length,
  }
}

function statementEnd(sql: string): number {
  PIECE.lastIndex = 0
  for (let piece = PIECE.exec(sql); piece !== null; piece = PIECE.exec(sql)) {
    if (piece[0] === ';') return piece.index
  }
  return sql.length
}
