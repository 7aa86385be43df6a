/** `Error: …` as Node prints what nobody caught, `KeyError: …` as Python does. */
const THROWN = /^(?:Uncaught |Fatal )?[\w.]*(?:Error|Exception)(?: \[\w+\])?: /
const ERROR_WORDS = /error|fatal|panic|cannot|could not|not found|no such|denied|refused|failed/i
const SYSTEM_CODE = /\bE[A-Z]{4,}\b/

const NOISE: readonly RegExp[] = [
  /^[\s{}()[\],;^~|.]*$/,
  // Frames of a stack, and where a source line stands.
  /^\s*(?:at |File ".+", line \d)/,
  /^\S+:\d+$/,
  /^Node\.js v\d/,
  // A member of a printed object, and the line that threw.
  /^\s+(?:[\w'"[\]()]+: |throw )/,
]

/** npm sets this before every line, whatever the line says. */
const NPM_PREFIX = /^npm (?:error|ERR!)(?: code \w+)?/

/** Of what a program said last the line that says why it died: rarely the very last. */
export function findErrorSummaryLine(lines: readonly string[]): string | undefined {
  const words = lines.filter((line) => !NOISE.some((noise) => noise.test(line)))
  return (
    words.findLast((line) => THROWN.test(line)) ??
    words.findLast(mentionsError) ??
    words.at(-1) ??
    lines.findLast((line) => line.trim() !== '')
  )
}

function mentionsError(line: string): boolean {
  const said = line.replace(NPM_PREFIX, '')
  return ERROR_WORDS.test(said) || SYSTEM_CODE.test(said)
}
