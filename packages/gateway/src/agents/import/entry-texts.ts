import { type ConfigEntry, readStrings, urlOf } from './found-server.ts'
import type { StringLocation } from './secret-parts.ts'

/** A text of an entry that may hold a secret. */
export interface EntryString {
  readonly location: StringLocation
  /** As a person would say where it is: `env.TOKEN`. */
  readonly at: string
  readonly text: string
}

/** The same entry, each of its texts replaced by what is made of it. */
export function mapStrings(entry: ConfigEntry, change: (text: EntryString) => string): ConfigEntry {
  const { command, args, cwd } = entry
  const url = urlOf(entry)
  return {
    ...entry,
    ...(typeof command === 'string' && { command: change({ location: STANDALONE, at: 'command', text: command }) }),
    ...(typeof cwd === 'string' && { cwd: change({ location: STANDALONE, at: 'cwd', text: cwd }) }),
    ...(Array.isArray(args) && { args: args.map((text, index) => changeArgument({ args, text, index }, change)) }),
    ...(entry.env !== undefined && { env: mapNamed(entry, 'env', change) }),
    ...(url !== undefined && { url: change({ location: { kind: 'url' }, at: 'url', text: url }) }),
    ...(entry.headers !== undefined && { headers: mapNamed(entry, 'headers', change) }),
  }
}

const STANDALONE = { kind: 'argument', before: undefined } as const

interface Argument {
  readonly args: readonly unknown[]
  readonly text: unknown
  readonly index: number
}

function changeArgument({ args, text, index }: Argument, change: (text: EntryString) => string): string {
  const before = index === 0 ? undefined : String(args[index - 1])
  return change({ location: { kind: 'argument', before }, at: `args[${index}]`, text: String(text) })
}

function mapNamed(
  entry: ConfigEntry,
  key: 'env' | 'headers',
  change: (text: EntryString) => string,
): Record<string, string> {
  const kind = key === 'env' ? 'env' : 'header'
  const changed = Object.entries(readStrings(entry, key)).map(([name, text]) => [
    name,
    change({ location: { kind, name }, at: `${key}.${name}`, text }),
  ])
  return Object.fromEntries(changed)
}
