import { didYouMean, SallyportError } from '@sallyport/core'
import {
  AliasNotFoundError,
  type Application,
  type ApplicationText,
  ArgumentScannerError,
  FlagNotFoundError,
  formatMessageForArgumentScannerError,
  proposeCompletions,
  run,
  text_en,
} from '@stricli/core'
import { createApplication, isCommand, listSubcommands } from './application.ts'
import type { CliContext } from './cli-context.ts'
import { describeError, type ErrorFormat, exitCodeOf } from './terminal/print-error.ts'
import { styleFor } from './terminal/screen.ts'

const EXIT_USAGE = 2
const EXIT_FAILED = 1
const RUN_UNKNOWN_FLAG_HINT =
  'Put -- before the agent’s own flags: `sallyport run claude -- -p "what changed?"`. See `sallyport run --help`.'

/** Runs one command line and prints its messages. Resolves to the exit code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  const { process, environment } = context
  const view: ErrorFormat = {
    json: asksForJson(args),
    debug: environment.SALLYPORT_DEBUG === '1',
    style: styleFor(process.stderr, environment),
  }
  const only = isCommand(args[0]) ? args[0] : undefined
  let failed: unknown
  try {
    const unknownFlagHint = only === 'run' ? RUN_UNKNOWN_FLAG_HINT : undefined
    const group = only === undefined ? undefined : { names: await listSubcommands(only), typed: args[1] }
    const text = createUsageText({ view, help: `sallyport ${only ? `${only} ` : ''}--help`, group, unknownFlagHint })
    const application = await createApplication(text, only)
    if (args[0] !== COMPLETE) await run(application, args, context)
    else process.stdout.write(await completionProposals(application, args.slice(1), context))
  } catch (error) {
    failed = error
    process.stderr.write(`${describeError(error, view)}\n`)
  }
  return failed === undefined ? toExitCode(process.exitCode) : exitCodeOf(failed)
}

/** The library returns a negative number for a command line that it cannot parse. */
function toExitCode(code: number | string | null | undefined): number {
  if (typeof code !== 'number') return 0
  if (code >= 0) return code
  return code === -4 || code === -5 ? EXIT_USAGE : EXIT_FAILED
}

/** Checked before parsing, so that a parse error is printed in the right format too. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** The command that the completion scripts use; it is not meant for people. */
const COMPLETE = 'complete'

/**
 * Proposals for the next word of a command line, one per line with its meaning. The last word is the one being typed.
 */
async function completionProposals(
  application: Application<CliContext>,
  words: readonly string[],
  context: CliContext,
): Promise<string> {
  // Bash passes `--flag=value` as three words.
  const typed = (words[0] === '--' ? words.slice(1) : words).filter((word) => word !== '=')
  const found = await proposeCompletions(application, typed.length === 0 ? [''] : typed, context)
  return found
    .filter(({ completion }) => completion !== '--')
    .map(({ completion, brief }) => `${completion}\t${brief}\n`)
    .join('')
}

interface UsageTextOptions {
  readonly view: ErrorFormat
  /** The help command to recommend: `sallyport call --help`. */
  readonly help: string
  /** If the command is a group: its subcommands, and the word that was typed. */
  readonly group?: CommandGroup | undefined
  /** A hint for an unknown flag that may be meant for another program. */
  readonly unknownFlagHint?: string | undefined
}

interface CommandGroup {
  readonly names: readonly string[]
  readonly typed: string | undefined
}

/** The library's messages in our format: what was received, what was probably meant, where to find help. */
export function createUsageText({ view, help, group, unknownFlagHint }: UsageTextOptions): ApplicationText {
  const usage = (message: string, hint = `See \`${help}\`.`): string =>
    describeError(new SallyportError('USAGE', message, { hint }), view)
  const failure = (error: unknown): string => describeError(error, view)
  return {
    ...text_en,
    briefs: { ...text_en.briefs, help: 'Show this help', version: 'Show the version' },
    noCommandRegisteredForInput: ({ input, corrections }) => usage(unknownCommand(input, corrections)),
    exceptionWhileParsingArguments: (error) => {
      if (error instanceof SallyportError) return failure(error)
      if (!(error instanceof ArgumentScannerError)) return failure(error)
      return usage(formatScanError(error, group), isUnknownFlag(error) ? unknownFlagHint : undefined)
    },
    exceptionWhileLoadingCommandFunction: failure,
    exceptionWhileLoadingCommandContext: failure,
    exceptionWhileRunningCommand: failure,
    exceptionWhileRunningIntegrationHook: ({ exception }) => failure(exception),
    exceptionWhileRunningIntegrationFlag: ({ exception }) => failure(exception),
    commandErrorResult: failure,
  }
}

const isUnknownFlag = (error: ArgumentScannerError): boolean =>
  error instanceof FlagNotFoundError || error instanceof AliasNotFoundError

function unknownCommand(input: string, corrections: readonly string[]): string {
  if (input.startsWith('-')) return `There is no flag "${input}" here. Flags come after the command.`
  const names = corrections.map((quoted) => quoted.replaceAll('`', ''))
  return `There is no command "${input}".${didYouMean(input, names)}`
}

function formatScanError(error: ArgumentScannerError, group: CommandGroup | undefined): string {
  return formatMessageForArgumentScannerError(error, {
    FlagNotFoundError: ({ input, corrections }) =>
      `There is no flag --${input}.${formatCorrection(corrections.map((flag) => `--${flag}`))}`,
    AliasNotFoundError: ({ input }) => `There is no flag -${input}.`,
    ArgumentParseError: ({ exception }) =>
      exception instanceof SallyportError ? exception.text : String((exception as Error).message),
    EnumValidationError: ({ externalFlagName, input, values }) =>
      `--${externalFlagName} is "${input}"; expected one of ${values.join(', ')}.${suggestValue(input, values)}`,
    UnsatisfiedFlagError: ({ externalFlagName }) => `--${externalFlagName} needs a value.`,
    UnsatisfiedPositionalError: ({ placeholder }) => `<${placeholder}> is missing.`,
    UnexpectedPositionalError: ({ expectedCount, input }) =>
      group?.typed === input && group.names.length > 0
        ? unknownCommand(input, group.names)
        : unexpectedArgument(input, expectedCount),
    UnexpectedFlagError: ({ externalFlagName }) => `--${externalFlagName} is given more than once.`,
  })
}

const unexpectedArgument = (input: string, expected: number): string =>
  `Unexpected argument "${input}": ${expected === 0 ? 'no argument is' : `at most ${expected} can be`} given here.${suggestArgsFlag(input)}`

/** Only `call` takes JSON. */
const suggestArgsFlag = (input: string): string =>
  input.startsWith('{') ? " The arguments of a tool are given with --args '…'." : ''

/** Longer forms of a word (`denied` for `deny`) differ more than a typo, so they are matched by their first letters. */
function suggestValue(input: string, values: readonly string[]): string {
  const stem = values.find((value) => input.toLowerCase().startsWith(value.slice(0, 3)))
  return didYouMean(input, values) || (stem === undefined ? '' : ` Did you mean "${stem}"?`)
}

const formatCorrection = (corrections: readonly string[]): string =>
  corrections.length === 0 ? '' : ` Did you mean "${corrections[0]}"?`
