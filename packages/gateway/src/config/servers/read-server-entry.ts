import { didYouMean, listSecretForms } from '@sallyport/core'
import { quote } from '../reading/config-issue.ts'
import { type ServerEntry, serverSchema } from '../reading/config-schema.ts'
import { type EntrySource, isEnabled } from '../reading/entry-source.ts'
import type { IssueLog, KeyLocation } from '../reading/issue-log.ts'
import type { LocatedEntry, LocatedNode } from '../reading/located-tree.ts'
import { type ConfigNode, type Normalized, normalize } from '../reading/normalize.ts'
import type { PathStep, Schema, SchemaIssue } from '../reading/schema.ts'
import type { ServerConfig } from '../settings.ts'
import { type ConfiguredValues, findCredentials } from './credentials.ts'
import { readDockerGateway } from './docker-gateway-entry.ts'
import { dockerGatewaySchema } from './docker-gateway-schema.ts'
import type { DockerVariables } from './docker-variables.ts'
import { readServer } from './server-entry.ts'
import type { CommonEntry } from './server-keys.ts'

/** What is known of the file in which an entry stands. */
export interface EntryContext {
  readonly file: string
  readonly home: string
  readonly userHome: string
  readonly lookup: (name: string) => string | undefined
  readonly docker: DockerVariables
  readonly log: IssueLog
  /** A text as our own files would write it, where another program's file is read. */
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

/** Which keys an entry has depends on its type, so that is looked at first. */
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
  const { log, file, home, userHome, spelling } = reading
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
    ...{ id, entry, home, userHome, log, heldBack },
    originalName: name === id ? undefined : name,
    fromVariables: listSecretForms(fromVariables.values()),
    credentials: findCredentials({ fromVariables, ...collectValues(entry) }),
    node: normalised.node,
    place: { file, line: log.lineOf(located) },
  }
}

/** Both kinds of servers, whichever this one is. */
function collectValues(entry: CommonEntry): Omit<ConfiguredValues, 'fromVariables'> {
  const { headers, env, environment, url, httpUrl } = entry as CommonEntry & Partial<ServerEntry>
  return { headers, env: env ?? environment, url: url ?? httpUrl }
}

/** Keys whose values may be secret even when they are written out in the file. */
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
])

/** The typed value, or nothing after every problem was logged at the place where it stands. */
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

/** As far down the path as there is something in the file. */
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
  if (value === '') return 'an empty text'
  if (node.origin === 'variable') return 'something else from a variable'
  if (path.some((step) => SECRET_KEYS.has(step))) return typeof value === 'string' ? 'a text' : `a ${typeof value}`
  return typeof value === 'string' ? quote(value) : String(value)
}

function suggestValue({ candidates }: SchemaIssue, { value, node }: Normalized): string {
  if (candidates === undefined || typeof value !== 'string' || node.origin !== 'written') return ''
  return didYouMean(value, candidates)
}
