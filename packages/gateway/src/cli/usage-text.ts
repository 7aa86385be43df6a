import { didYouMean, SallyportError } from '@sallyport/core'
import {
  AliasNotFoundError,
  type ApplicationText,
  ArgumentScannerError,
  FlagNotFoundError,
  formatMessageForArgumentScannerError,
  text_en,
} from '@stricli/core'
import { describeError, type ErrorFormat } from './print-error.ts'

export interface UsageTextOptions {
  readonly view: ErrorFormat
  /** Where the reader finds more: `sallyport call --help`. */
  readonly help: string
  /** What may stand behind the command, where that is a group of others, and what does. */
  readonly group?: CommandGroup | undefined
  /** What to do about a flag that is not ours, where it may be meant for another program. */
  readonly unknownFlagHint?: string | undefined
}

export interface CommandGroup {
  readonly names: readonly string[]
  readonly typed: string | undefined
}

/** The library's messages in our words: what was got, what was meant, where to look. */
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
  if (input.startsWith('-')) return `There is no flag "${input}" here. Flags stand after the command.`
  const names = corrections.map((quoted) => quoted.replaceAll('`', ''))
  return `There is no command "${input}".${didYouMean(input, names)}`
}

function formatScanError(error: ArgumentScannerError, group: CommandGroup | undefined): string {
  return formatMessageForArgumentScannerError(error, {
    FlagNotFoundError: ({ input, corrections }) => `There is no flag --${input}.${formatCorrection(corrections)}`,
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
  `"${input}" is too much: ${expected === 0 ? 'no argument is' : `at most ${expected} can be`} given here.${suggestArgsFlag(input)}`

/** Only one command takes JSON. */
const suggestArgsFlag = (input: string): string =>
  input.startsWith('{') ? " The arguments of a tool are given with --args '…'." : ''

/** Longer forms of a word (`denied` for `deny`) are further away than any slip of the finger. */
function suggestValue(input: string, values: readonly string[]): string {
  const stem = values.find((value) => input.toLowerCase().startsWith(value.slice(0, 3)))
  return didYouMean(input, values) || (stem === undefined ? '' : ` Did you mean "${stem}"?`)
}

const formatCorrection = (corrections: readonly string[]): string =>
  corrections.length === 0 ? '' : ` Did you mean "${corrections[0]}"?`
