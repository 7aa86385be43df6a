/** A flag of an agent with its value. */
export interface FlagValue {
  readonly flag: string
  readonly value: string
}

/**
 * All values of these flags, in every notation: after a space, after `=`, or directly after a single letter.
 */
export function findFlagValues(args: readonly string[], flags: readonly string[]): readonly FlagValue[] {
  return args.flatMap((arg, at) =>
    flags.flatMap((flag) => {
      const value = arg === flag ? args[at + 1] : attachedTo(flag, arg)
      return value === undefined ? [] : [{ flag, value }]
    }),
  )
}

function attachedTo(flag: string, arg: string): string | undefined {
  if (arg.startsWith(`${flag}=`)) return arg.slice(flag.length + 1)
  return flag.length === 2 && arg.startsWith(flag) ? arg.slice(2) : undefined
}

/** Whether a flag is among the arguments. Some agents accept `--mcpConfig` as `--mcp-config`. */
export function hasFlag(args: readonly string[], flag: string): boolean {
  return args.some((arg) => {
    if (flag.length === 2) return arg.startsWith(flag)
    const [name = ''] = arg.split('=', 1)
    return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) === flag
  })
}
