import type { Screen } from '../terminal/screen.ts'
import { visibleLines } from '../terminal/terminal-text.ts'
import type { Check } from './check.ts'

export function printChecks(screen: Screen, checks: readonly Check[]): void {
  const { style } = screen
  const marks = { ok: style.green('✓'), warning: style.yellow('!'), wrong: style.red('✗') }
  const width = Math.max(...checks.map(({ name }) => name.length))
  for (const { name, level, finding, fix } of checks) {
    screen.print(`${marks[level]} ${name.padEnd(width)}  ${visibleLines(finding)}\n`)
    if (fix !== undefined) screen.print(`${' '.repeat(width + 4)}→ ${visibleLines(fix)}\n`)
  }
}
