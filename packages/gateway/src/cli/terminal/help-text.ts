import type { Command, RouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'

/** What to type after `sallyport`, and what it does. */
export type Example = readonly [input: string, brief: string]

type Target = Command<CliContext> | RouteMap<CliContext>
type HelpArguments = Parameters<Target['formatHelp']>[0]

/** Puts the examples before everything else: most readers look for nothing more. */
export function withExamples(target: Command<CliContext>, examples: readonly Example[]): Command<CliContext> {
  return { ...target, formatHelp: (args) => `${renderExamples(examples)}\n${target.formatHelp(args)}` }
}

/** The help of a group of commands: examples, the commands, and how to learn more. */
export function withOverview(target: RouteMap<CliContext>, examples: readonly Example[]): RouteMap<CliContext> {
  return { ...target, formatHelp: (args) => `${renderExamples(examples)}\n${renderOverview(target, args)}` }
}

function renderExamples(examples: readonly Example[]): string {
  const lines = examples.map(([input, brief]) => `  sallyport ${input}\n      ${brief}\n`)
  return `EXAMPLES\n${lines.join('')}`
}

function renderOverview(
  target: RouteMap<CliContext>,
  { prefix, additionalFlags, includeHidden }: HelpArguments,
): string {
  const entries = target.getAllEntries().filter(({ hidden }) => includeHidden || !hidden)
  const commands = entries.map(({ name, target: { brief } }) => [name.original, brief] as const)
  const flags = additionalFlags
    .filter(({ hidden }) => includeHidden || !hidden)
    .map(
      ({ name, aliases = [], brief }) => [[`--${name}`, ...aliases.map((one) => `-${one}`)].join(', '), brief] as const,
    )
  const path = prefix.join(' ')
  const defaultCommand = entries.find((entry) => entry.target === target.getDefaultCommand())?.name.original
  return [
    `${target.fullDescription ?? target.brief}\n`,
    section('COMMANDS', commands),
    section('FLAGS', flags),
    `${defaultCommand === undefined ? '' : `\`${path}\` alone means \`${path} ${defaultCommand}\`. `}\`${path} <command> --help\` shows more about each.\n`,
  ].join('\n')
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return `${title}\n${rows.map(([name, brief]) => `  ${name.padEnd(width)}  ${brief}\n`).join('')}`
}
