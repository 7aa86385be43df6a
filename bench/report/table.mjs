/** A table of Markdown: columns of text are aligned left, columns of numbers right. */
export function printTable(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  const isWord = (index) => rows.every((cells) => /^[a-z*]/i.test(cells[index]))
  return [line(head), line(head.map((_, index) => (isWord(index) ? '---' : '--:'))), ...rows.map(line)].join('\n')
}

/** Only significant digits: 0.43, 4.3, 43, 430. */
export function printNumber(value) {
  if (!Number.isFinite(value)) return '–'
  const digits = Math.abs(value) >= 10 ? 0 : Math.abs(value) >= 1 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export const printRatio = (value) => (Number.isFinite(value) ? `${value.toFixed(2)} ×` : '–')

export const printShare = (value) => (Number.isFinite(value) ? `±${(value * 100).toFixed(0)} %` : '–')
