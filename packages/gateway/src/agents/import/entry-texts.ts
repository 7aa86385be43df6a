import { type Entry, textsOf, urlOf } from './found-server.ts'
import type { TextPlace } from './secret-parts.ts'

/** A text of an entry that may hold a secret. */
export interface EntryText {
  readonly place: TextPlace
  /** As a person would say where it is: `env.TOKEN`. */
  readonly at: string
  readonly text: string
}

/** The same entry, each of its texts replaced by what is made of it. */
export function mapTexts(entry: Entry, change: (text: EntryText) => string): Entry {
  const { command, args, cwd } = entry
  const url = urlOf(entry)
  return {
    ...entry,
    ...(typeof command === 'string' && { command: change({ place: LONE, at: 'command', text: command }) }),
    ...(typeof cwd === 'string' && { cwd: change({ place: LONE, at: 'cwd', text: cwd }) }),
    ...(Array.isArray(args) && { args: args.map((text, index) => changedArgument({ args, text, index }, change)) }),
    ...(entry.env !== undefined && { env: mapNamed(entry, 'env', change) }),
    ...(url !== undefined && { url: change({ place: { kind: 'url' }, at: 'url', text: url }) }),
    ...(entry.headers !== undefined && { headers: mapNamed(entry, 'headers', change) }),
  }
}

const LONE = { kind: 'argument', before: undefined } as const

interface Argument {
  readonly args: readonly unknown[]
  readonly text: unknown
  readonly index: number
}

function changedArgument({ args, text, index }: Argument, change: (text: EntryText) => string): string {
  const before = index === 0 ? undefined : String(args[index - 1])
  return change({ place: { kind: 'argument', before }, at: `args[${index}]`, text: String(text) })
}

function mapNamed(entry: Entry, key: 'env' | 'headers', change: (text: EntryText) => string): Record<string, string> {
  const kind = key === 'env' ? 'env' : 'header'
  const changed = Object.entries(textsOf(entry, key)).map(([name, text]) => [
    name,
    change({ place: { kind, name }, at: `${key}.${name}`, text }),
  ])
  return Object.fromEntries(changed)
}
