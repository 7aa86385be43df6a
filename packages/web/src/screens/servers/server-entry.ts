export interface ServerFields {
  readonly kind: 'command' | 'url'
  readonly command: string
  /** One argument on each line. */
  readonly args: string
  /** `NAME=value` on each line. */
  readonly env: string
  readonly url: string
  /** `Name: value` on each line. */
  readonly headers: string
}

export type EntryResult = { readonly entry: Readonly<Record<string, unknown>> } | { readonly problem: string }

/** The entry of config.yaml that the fields of the form describe. */
export function toServerEntry({ kind, command, args, env, url, headers }: ServerFields): EntryResult {
  const isCommand = kind === 'command'
  const pairs = isCommand ? readPairs(env, '=') : readPairs(headers, ':')
  if (typeof pairs === 'string')
    return { problem: `${JSON.stringify(pairs.slice(0, 100))} is not ${isCommand ? 'NAME=value' : 'Name: value'}.` }
  const hasPairs = Object.keys(pairs).length > 0
  if (!isCommand) return { entry: { url: url.trim(), ...(hasPairs && { headers: pairs }) } }
  const list = args.split('\n').filter((line) => line !== '')
  return { entry: { command: command.trim(), ...(list.length > 0 && { args: list }), ...(hasPairs && { env: pairs }) } }
}

/** The names and values, or the first line that is none. */
function readPairs(text: string, sign: '=' | ':'): Readonly<Record<string, string>> | string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const wrong = lines.find((line) => line.indexOf(sign) < 1)
  if (wrong !== undefined) return wrong
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(sign)
      const value = line.slice(at + 1)
      return [line.slice(0, at).trim(), sign === ':' ? value.trim() : value]
    }),
  )
}
