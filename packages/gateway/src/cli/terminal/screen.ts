import type { CliContext, Output } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { repeatFolders } from './suggested-commands.ts'
import { type Column, type Fact, renderFacts, renderTable } from './table.ts'
import { COLORED, PLAIN, type Style, visibleLines } from './terminal-text.ts'

/** The output of a command: data on stdout, messages on stderr. */
export interface Screen {
  /** The caller is a program. */
  readonly json: boolean
  readonly style: Style
  /** In columns; `undefined` if the output is not a terminal. */
  readonly width: number | undefined
  print(text: string): void
  /** One value per line of JSON. */
  printJson(value: unknown): void
  printTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void
  printFacts(facts: readonly Fact[]): void
  /** Prints text from others: unchanged for a program, with control characters escaped for a terminal. */
  printUntrusted(text: string): void
  printMessage(text: string): void
  /** Adds the folders of this command line to the commands that a text suggests; `printMessage` does so itself. */
  withFolders(text: string): string
}

export function createScreen({ process, environment }: CliContext, flags: GlobalFlags): Screen {
  const { stdout, stderr } = process
  const style = styleFor(stdout, environment)
  const print = (text: string): void => void stdout.write(text)
  return {
    json: flags.json === true,
    style,
    width: widthOf(stdout),
    print,
    printJson: (value) => print(`${JSON.stringify(value)}\n`),
    printTable: (columns, rows) => print(renderTable({ columns, rows, width: widthOf(stdout), style })),
    printFacts: (facts) => print(renderFacts(facts, style)),
    printUntrusted: (text) => print(stdout.isTTY ? visibleLines(text) : text),
    printMessage: (text) => void stderr.write(`${repeatFolders(text, flags)}\n`),
    withFolders: (text) => repeatFolders(text, flags),
  }
}

/** https://no-color.org: set and not empty, whatever the value. */
export function styleFor({ isTTY }: Output, environment: Readonly<Record<string, string | undefined>>): Style {
  return isTTY && !environment.NO_COLOR && environment.TERM !== 'dumb' ? COLORED : PLAIN
}

const widthOf = ({ isTTY, columns }: Output): number | undefined => (isTTY ? (columns ?? 80) : undefined)
