import { didYouMean, listSecretForms } from '@sallyport/core'
import { quote } from '../reading/config-issue.ts'
import { type ServerEntry, serverSchema } from '../reading/config-schema.ts'
import { type EntrySource, isEnabled } from '../reading/entry-source.ts'
import type { IssueLog, KeyLocation } from '../reading/issue-log.ts'
import type { LocatedEntry, LocatedNode } from '../reading/located-tree.ts'
import { type ConfigNode, type Normalized, normalize } from '../reading/normalize.ts'
import type { PathStep, Schema, SchemaIssue } from '../reading/schema.ts'
import type { SandboxDefault, ServerConfig } from '../settings.ts'
import { type ConfiguredValues, findCredentials } from './credentials.ts'
import { readDockerGateway } from './docker-gateway-entry.ts'
import { dockerGatewaySchema } from './docker-gateway-schema.ts'
import type { DockerVariables } from './docker-variables.ts'
import { readServer } from './server-entry.ts'
import type { CommonEntry } from './server-keys.ts'

/** The file that an entry is in, and what is needed to read it. */
export interface EntryContext {
  readonly file: string
  readonly home: string
  readonly userHome: string
  readonly lookup: (name: string) => string | undefined
  readonly docker: DockerVariables
  readonly sandboxDefault: SandboxDefault
  readonly log: IssueLog
  /** For files of other programs: converts a string to our own syntax for variables. */
  readonly spelling?: (text: string) => string
}

interface EntryName {
  readonly name: string
  readonly id: string
}

type Located = KeyLocation & { readonly node: LocatedNode }

export const entriesOf = (node: LocatedNode): readonly LocatedEntry[] => (node.kind === 'map' ? node.entries : [])

export function readType(node: LocatedNode): unknown {
  const type = entriesOf(node).find(({ key }) => key === 'type')?.node
  return type?.kind === 'scalar' ? type.value : undefined
}

/** The type is read first, because it determines which keys an entry may have. */
export function readServerEntry(located: Located, named: EntryName, reading: EntryContext): ServerConfig | undefined {
  if (readType(located.node) !== 'docker-gateway') {
    const source = readSource(located, serverSchema, { ...named, reading })
    return source && readServer(source)
  }
  const source = readSource(located, dockerGatewaySchema, { ...named, reading })
  return source && readDockerGateway(source, reading.docker)
}

function readSource<Entry extends CommonEntry>(
  located: Located,
  schema: Schema<Entry>,
  { name, id, reading }: EntryName & { readonly reading: EntryContext },
): EntrySource<Entry> | undefined {
  const { log, file, home, userHome, sandboxDefault, spelling } = reading
  const unset: [KeyLocation, string][] = []
  const fromVariables = new Map<string, string>()
  const lookup = (variable: string): string | undefined => {
    const value = reading.lookup(variable)
    if (value !== undefined) fromVariables.set(variable, value)
    return value
  }
  let heldBack: string | undefined
  const normalised = normalize(located, schema, {
    log,
    lookup,
    onMisspelt: (problem) => {
      heldBack ??= problem
    },
    onUnset: (subject, problem) => void unset.push([subject, problem]),
    ...(spelling && { spelling }),
  })
  const entry = validate(schema, normalised, log)
  // A server that is switched off must not ask for its secrets.
  if (entry === undefined || isEnabled(entry)) for (const [subject, problem] of unset) log.error(subject, problem)
  if (entry === undefined) return undefined
  return {
    ...{ id, entry, home, userHome, sandboxDefault, log, heldBack },
    originalName: name === id ? undefined : name,
    fromVariables: listSecretForms(fromVariables.values()),
    credentials: findCredentials({ fromVariables, ...collectValues(entry) }),
    node: normalised.node,
    location: { file, line: log.lineOf(located) },
  }
}

/** Reads the keys of all kinds of servers, whichever kind this one is. */
function collectValues(entry: CommonEntry): Omit<ConfiguredValues, 'fromVariables'> {
  const { headers, env, environment, url, httpUrl, urlIsolated } = entry as CommonEntry & Partial<ServerEntry>
  return { headers, env: env ?? environment, urls: [url ?? httpUrl, urlIsolated].filter((one) => one !== undefined) }
}

/** Keys whose values may be secret even if they are written in the file. */
const SECRET_KEYS: ReadonlySet<PathStep> = new Set([
  'args',
  'command',
  'endpoint',
  'env',
  'environment',
  'extraArgs',
  'headers',
  'httpUrl',
  'interceptors',
  'jwksUri',
  'otlp',
  'secret',
  'url',
  'urlIsolated',
])

/** Returns the typed value. If it is invalid, it logs every problem with its location and returns `undefined`. */
export function validate<Value>(part: Schema<Value>, normalised: Normalized, log: IssueLog): Value | undefined {
  const reading = part.read(normalised.value)
  if (reading.ok) return reading.value
  for (const issue of reading.issues) {
    const found = findDeepest(normalised, issue.path)
    if (found.node.origin === 'unresolved') continue
    log.error(
      found.node,
      `expected ${issue.expected}; got ${describeValue(found, issue.path)}.${suggestValue(issue, found)}`,
    )
  }
  return undefined
}

/** Follows the path as far as the file has values. */
function findDeepest(normalised: Normalized, path: readonly PathStep[]): Normalized {
  let { value, node }: { value: unknown; node: ConfigNode } = normalised
  for (const step of path) {
    const child = node.children.get(step)
    if (child === undefined) break
    node = child
    value = (value as Readonly<Record<PathStep, unknown>>)[step]
  }
  return { value, node }
}

function describeValue({ value, node }: Normalized, path: readonly PathStep[]): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (value === '') return 'an empty string'
  if (node.origin === 'variable') return 'something else from a variable'
  if (path.some((step) => SECRET_KEYS.has(step))) return typeof value === 'string' ? 'a string' : `a ${typeof value}`
  return typeof value === 'string' ? quote(value) : String(value)
}

function suggestValue({ candidates }: SchemaIssue, { value, node }: Normalized): string {
  if (candidates === undefined || typeof value !== 'string' || node.origin !== 'written') return ''
  return didYouMean(value, candidates)
}
