import { run } from '@stricli/core'
import { createApplication, isCommand, listSubcommands } from './application.ts'
import type { CliContext } from './cli-context.ts'
import { COMPLETE, completionProposals } from './completion-proposals.ts'
import { describeError, type ErrorFormat, exitCodeOf } from './print-error.ts'
import { styleFor } from './screen.ts'
import { createUsageText } from './usage-text.ts'

const EXIT_USAGE = 2
const EXIT_FAILED = 1
const RUN_UNKNOWN_FLAG_HINT =
  'Put -- before the agent’s own flags: `sallyport run claude -- -p "what changed?"`. See `sallyport run --help`.'

/** Runs one command line. Resolves to the exit code; every message has been printed. */
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

/** The library answers a line that it cannot read with a negative number. */
function toExitCode(code: number | string | null | undefined): number {
  if (typeof code !== 'number') return 0
  if (code >= 0) return code
  return code === -4 || code === -5 ? EXIT_USAGE : EXIT_FAILED
}

/** Known before the line is parsed, so that a line that cannot be parsed is answered in the right form too. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}
