/** `Error: …` as Node prints an uncaught error, `KeyError: …` as Python does. */
const THROWN = /^(?:Uncaught |Fatal )?[\w.]*(?:Error|Exception)(?: \[\w+\])?: /
const ERROR_WORDS = /error|fatal|panic|cannot|could not|not found|no such|denied|refused|failed/i
const SYSTEM_CODE = /\bE[A-Z]{4,}\b/

const NOISE: readonly RegExp[] = [
  /^[\s{}()[\],;^~|.]*$/,
  // Stack frames, and the position of a source line.
  /^\s*(?:at |File ".+", line \d)/,
  /^\S+:\d+$/,
  /^Node\.js v\d/,
  // A member of a printed object, and the line that threw.
  /^\s+(?:[\w'"[\]()]+: |throw )/,
]

/** npm writes this before every line, whatever the line says. */
const NPM_PREFIX = /^npm (?:error|ERR!)(?: code \w+)?/

/** Finds, in the last output of a program, the line that says why it died: rarely the very last one. */
export function findErrorSummaryLine(lines: readonly string[]): string | undefined {
  const candidates = lines.filter((line) => !NOISE.some((noise) => noise.test(line)))
  return (
    candidates.findLast((line) => THROWN.test(line)) ??
    candidates.findLast(mentionsError) ??
    candidates.at(-1) ??
    lines.findLast((line) => line.trim() !== '')
  )
}

function mentionsError(line: string): boolean {
  const text = line.replace(NPM_PREFIX, '')
  return ERROR_WORDS.test(text) || SYSTEM_CODE.test(text)
}
