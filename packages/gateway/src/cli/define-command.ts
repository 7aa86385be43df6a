import { SallyportError } from '@sallyport/core'
import {
  buildCommand,
  type Command,
  type CommandBuilderArguments,
  type FlagParametersForType,
  type TypedPositionalParameters,
} from '@stricli/core'
import type { CliContext } from './cli-context.ts'
import { GLOBAL_FLAGS, type GlobalFlags } from './global-flags.ts'
import { type Example, withExamples } from './terminal/help-text.ts'
import { OutputClosed } from './terminal/interruption.ts'
import { repeatFolders } from './terminal/suggested-commands.ts'

export interface CommandDefinition<Flags, Args extends readonly unknown[]> {
  readonly brief: string
  readonly description?: string
  readonly examples: readonly Example[]
  readonly flags: FlagParametersForType<Flags, CliContext>
  readonly aliases?: Readonly<Record<string, keyof Flags & string>>
  readonly positional?: TypedPositionalParameters<Args, CliContext>
  readonly run: (context: CliContext, flags: Flags & GlobalFlags, ...args: Args) => Promise<void> | void
}

/** A command with the global flags, and with its examples at the top of its help. */
export function defineCommand<Flags, const Args extends readonly unknown[] = []>(
  definition: CommandDefinition<Flags, Args>,
): Command<CliContext> {
  const { brief, description, examples, flags, aliases, positional, run } = definition
  const parameters = {
    // Without a prototype, so that --constructor is an unknown flag and not a property of all objects.
    flags: Object.assign(Object.create(null), flags, GLOBAL_FLAGS),
    ...(aliases && { aliases }),
    ...(positional && { positional }),
  }
  // The library derives the types of flags from the parameters; here both come from the definition.
  const built = buildCommand({
    async func(this: CliContext, given: Flags & GlobalFlags, ...args: Args) {
      try {
        await run(this, given, ...args)
      } catch (error) {
        if (!(error instanceof OutputClosed)) throw withFolders(error, given)
      }
    },
    parameters,
    docs: { brief, ...(description !== undefined && { fullDescription: `${brief}.\n${description}` }) },
  } as unknown as CommandBuilderArguments<Record<string, unknown>, [], CliContext>)
  return withExamples(built, examples)
}

/** The hint of an error may suggest commands. */
function withFolders(error: unknown, flags: GlobalFlags): unknown {
  if (!(error instanceof SallyportError) || error.hint === undefined) return error
  const hint = repeatFolders(error.hint, flags)
  return hint === error.hint ? error : new SallyportError(error.code, error.message, { hint, cause: error.cause })
}
