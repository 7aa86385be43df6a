import { basename } from 'node:path'
import { expandVars } from '@sallyport/core'
import { type ConfigEntry, hasReference, readCommandWords, readStrings, urlOf } from './found-server.ts'
import { findSecretParts, type StringLocation } from './secret-parts.ts'

/** Identifies a server, apart from the version of its package. */
export interface ServerIdentity {
  readonly key: string
  /** `undefined` if no version or the latest is requested. */
  readonly version: string | undefined
}

const HIDDEN = '\0'
const REFERENCE = /(?<!\$)\$\{[^}]*\}/g

/** Programs that download and run a package, by the first words of their command lines. */
const RUNNERS: readonly (readonly [registry: 'npm' | 'pypi', ...words: string[]])[] = [
  ['npm', 'npx'],
  ['npm', 'bunx'],
  ['npm', 'pnpx'],
  ['npm', 'pnpm', 'dlx'],
  ['npm', 'yarn', 'dlx'],
  ['npm', 'bun', 'x'],
  ['npm', 'npm', 'exec'],
  ['pypi', 'uvx'],
  ['pypi', 'uv', 'tool', 'run'],
  ['pypi', 'pipx', 'run'],
]
const IGNORED_FLAGS = new Set(['-y', '--yes', '-q', '--quiet', '--silent', '--'])

/** The same for equivalent commands or URLs. Secrets and the references that replace them are ignored. */
export function identifyServer(entry: ConfigEntry): ServerIdentity {
  const masked = mapStrings(entry, maskString)
  const url = urlOf(masked)
  if (url !== undefined) return { key: JSON.stringify(['url', normalizeUrl(url)]), version: undefined }
  const { words, version } = normalizeCommand(readCommandWords(masked))
  return { key: JSON.stringify(['program', ...words, masked.cwd ?? '']), version }
}

function maskString({ text, location }: EntryString): string {
  let masked = text
  for (const { start, end } of findSecretParts(text, location).toReversed())
    masked = masked.slice(0, start) + HIDDEN + masked.slice(end)
  return masked.replaceAll(REFERENCE, HIDDEN)
}

function normalizeUrl(text: string): string {
  const plain = text.replace(/#.*$/s, '')
  const [, scheme = '', host = '', rest = ''] = /^([a-z]+):\/\/([^/?]*)(.*)$/is.exec(plain) ?? []
  const [path = '', query] = rest.split(/\?(.*)/s)
  const port = scheme.toLowerCase() === 'https' ? /:443$/ : /:80$/
  const origin = `${scheme}://${host.replace(port, '')}`.toLowerCase()
  return `${origin}${path.replace(/\/+$/, '')}${query ? `?${query}` : ''}`
}

interface NormalizedCommand {
  readonly words: readonly string[]
  readonly version: string | undefined
}

function normalizeCommand(words: readonly string[]): NormalizedCommand {
  const [program = '', ...args] = words
  const name = basename(program.replaceAll('\\', '/')).replace(/\.(?:cmd|exe|ps1)$/i, '')
  const runner = RUNNERS.find(([, ...starts]) => starts.every((word, at) => word === (at === 0 ? name : args[at - 1])))
  if (runner === undefined) return { words: [program, ...args].map(normalizePath), version: undefined }
  const [registry, ...starts] = runner
  const rest = args.slice(starts.length - 1)
  const first = rest.findIndex((word) => !IGNORED_FLAGS.has(word))
  const wanted = rest[first]
  // A flag of the runner changes what is run.
  if (wanted === undefined || wanted.startsWith('-')) return { words: [name, ...rest], version: undefined }
  const [, packageName = wanted, version] = /^(@?[^@=]+)(?:==?|@)(.+)$/.exec(wanted) ?? []
  const following = rest.slice(first + 1).map(normalizePath)
  return { words: [registry, packageName, ...following], version: version === 'latest' ? undefined : version }
}

const normalizePath = (word: string): string =>
  /^[/~.]/.test(word) && word.length > 1 ? word.replace(/\/+$/, '') : word

export type VariableLookup = (variable: string) => string | undefined

/**
 * Whether two entries with the same identity do not contradict each other: the same program with another account or
 * database is another server. The value of an unset variable could be anything.
 */
export function areCompatible(a: ConfigEntry, b: ConfigEntry, lookup: VariableLookup): boolean {
  const urls: Pair = [urlOf(a) ?? '', urlOf(b) ?? '']
  const pairs = [...sharedPairs(a, b, 'env'), ...sharedPairs(a, b, 'headers'), ...argumentPairs(a, b)]
  return pairs.every((pair) => canBeSame(pair, lookup)) && (urls.some(hasReference) || haveSameSecrets(urls))
}

function canBeSame([one, other]: Pair, lookup: VariableLookup): boolean {
  if (one === other) return true
  if (!hasReference(one) && !hasReference(other)) return false
  const [first, second] = [expandVars(one, lookup), expandVars(other, lookup)]
  return !first.ok || !second.ok || first.value === second.value
}

const haveSameSecrets = (urls: Pair): boolean => {
  const [one, other] = urls.map((url) =>
    findSecretParts(url, { kind: 'url' }).map(({ start, end }) => url.slice(start, end)),
  )
  return one?.join('\n') === other?.join('\n')
}

type Pair = readonly [string, string]

function sharedPairs(a: ConfigEntry, b: ConfigEntry, key: 'env' | 'headers'): readonly Pair[] {
  const fold = (name: string): string => (key === 'headers' ? name.toLowerCase() : name)
  const other = new Map(Object.entries(readStrings(b, key)).map(([name, text]) => [fold(name), text]))
  return Object.entries(readStrings(a, key)).flatMap(([name, text]): Pair[] => {
    const same = other.get(fold(name))
    return same === undefined ? [] : [[text, same]]
  })
}

/** The arguments of two entries with the same identity, pairwise: they differ only in secrets. */
function argumentPairs(a: ConfigEntry, b: ConfigEntry): readonly Pair[] {
  const [ones, others] = [a, b].map((entry) => normalizeCommand(readCommandWords(entry)).words)
  return (ones ?? []).map((word, at): Pair => [word, others?.[at] ?? ''])
}

/** A text of an entry that may contain a secret. */
interface EntryString {
  readonly location: StringLocation
  /** Its location for people: `env.TOKEN`. */
  readonly at: string
  readonly text: string
}

/** Applies a function to every text of an entry. */
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
