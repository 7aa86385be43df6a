/** Leading white space, comments and empty statements, as SQLite's own tokenizer skips them. */
const SKIPPED = /^(?:[ \t\n\f\r;\uFEFF]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*/
/** The text between quotes and comments. A quote inside quotes is doubled, which is read as two quoted parts in a row. */
const TOKEN =
  /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[^'"`[;/-]+|[/-]/gy

export interface ParsedStatement {
  /** The first word in upper case: in SQLite it alone determines the kind of a statement. */
  readonly keyword: string
  /** Without leading and trailing comments and white space. */
  readonly text: string
  /** True if something besides comments follows the semicolon at its end. */
  readonly hasMore: boolean
}

/**
 * Parses one statement of SQLite. libsql runs the first of several statements and silently drops the rest, so this must
 * be checked. What the statement may do is not decided here but by the session.
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
