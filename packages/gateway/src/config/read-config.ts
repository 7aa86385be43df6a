import { BUILT_IN_SERVER, camelCase, isServerId, secretsAmong, slugServerId } from '@sallyport/core'
import { readAudit } from './audit-section.ts'
import { type ConfigIssue, joinKey } from './config-issue.ts'
import { PROTECTING_SECTIONS, sectionsSchema, serverSchema } from './config-schema.ts'
import { createDockerDefault, DOCKER_ID, readDockerGateway } from './docker-gateway-entry.ts'
import { dockerGatewaySchema } from './docker-gateway-schema.ts'
import type { DockerVariables } from './docker-variables.ts'
import { type EntrySource, isEnabled } from './entry-source.ts'
import { readGateway } from './gateway-section.ts'
import { readGovernance } from './governance-section.ts'
import { readContext, readExecutor, readIsolation } from './isolation-section.ts'
import { createIssueLog, type IssueLog, type Subject } from './issue-log.ts'
import { readJwt } from './jwt-section.ts'
import { type LocatedEntry, type LocatedNode, parseTree } from './located-tree.ts'
import { normalise, type Spot } from './normalise.ts'
import { promisesIn } from './promised-keys.ts'
import type { Part } from './schema.ts'
import { readServer } from './server-entry.ts'
import { type CommonEntry, PROTECTING_SERVER_KEYS } from './server-keys.ts'
import { judgePresets, type LocatedServer } from './server-presets.ts'
import type { ServerConfig, Settings } from './settings.ts'
import { readTelemetry } from './telemetry-section.ts'
import { validate } from './validate.ts'

export interface ConfigText {
  readonly file: string
  readonly text: string
  readonly home: string
  readonly userHome: string
  readonly lookup: (name: string) => string | undefined
  readonly docker: DockerVariables
}

export interface ReadConfig {
  /** Only to be used when there is no error. */
  readonly settings: Omit<Settings, 'profiles'>
  readonly errors: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** The keys that ask for a protection which this version does not give. */
  readonly unenforced: readonly string[]
}

interface Reading extends ConfigText {
  readonly log: IssueLog
  readonly unenforced: string[]
}

/** Everything the text says and everything that is wrong with it. It does not throw. */
export function readConfig(source: ConfigText): ReadConfig {
  const tree = parseTree(source.text)
  const log = createIssueLog(source.file, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const unenforced = [...promisesIn(tree.root, '', PROTECTING_SECTIONS)]
  const reading = { ...source, log, unenforced }
  const servers = withDockerDefault(readServers(tree.root, reading), reading)
  const settings = { ...readSections(tree.root, servers, reading), servers }
  judgePresets(serverEntries(tree.root), settings.context.presets, log)
  return { settings, errors: log.errors, warnings: log.warnings, unenforced }
}

function readSections(root: LocatedNode, servers: readonly ServerConfig[], { file, log, lookup }: Reading) {
  const located = { node: isNothing(root) ? NO_ENTRIES : root, offset: 0, key: '' }
  const onUnset = (subject: Subject, problem: string): void => log.error(subject, problem)
  const normalised = normalise(located, sectionsSchema, { log, lookup, onUnset })
  const sections = validate(sectionsSchema, normalised, log)
  const spotOf = (...path: string[]): Spot =>
    path.reduce((spot, step) => spot.children.get(step) ?? spot, normalised.spot)
  const gateway = readGateway(sections?.gateway ?? {}, spotOf('gateway'), log)
  const enabled = servers.filter((server) => server.enabled).length
  if (gateway.naming === 'bare' && enabled > 1) {
    log.error(
      spotOf('gateway', 'naming'),
      `"bare" names are possible with one enabled server; got ${enabled}. Use "prefixed".`,
    )
  }
  const jwt = sections?.auth?.jwt
  return {
    gateway,
    jwt: jwt === undefined ? undefined : readJwt(jwt, spotOf('auth', 'jwt'), log),
    audit: readAudit(sections?.audit ?? {}),
    governance: readGovernance(sections?.governance ?? {}, { file, spot: spotOf('governance'), log }),
    isolation: readIsolation(sections?.isolation ?? {}, spotOf('isolation'), log),
    executor: readExecutor(sections?.agents ?? {}, spotOf('agents'), log),
    context: readContext(sections?.context ?? {}, spotOf('context'), log),
    telemetry: readTelemetry(sections?.telemetry ?? {}, spotOf('telemetry'), log),
  }
}

const NO_ENTRIES: LocatedNode = { kind: 'map', entries: [] }
const isNothing = (node: LocatedNode): boolean => node.kind === 'scalar' && node.value === null

function readServers(root: LocatedNode, reading: Reading): readonly ServerConfig[] {
  const section = serverSection(root)
  if (section === undefined || isNothing(section.node)) return []
  if (section.node.kind !== 'map') {
    reading.log.error(section, 'expected a mapping of names to servers, such as {files: {command: npx, args: […]}}.')
    return []
  }
  const taken = new Map<string, Subject>()
  return section.node.entries.flatMap((entry) => {
    const subject = { offset: entry.offset, key: joinKey(section.key, entry.key) }
    if (isSkipped(entry)) return []
    reading.unenforced.push(...promisesIn(entry.node, subject.key, PROTECTING_SERVER_KEYS))
    const id = claimId(entry.key, subject, { taken, log: reading.log })
    const server = readEntry({ ...subject, node: entry.node }, { name: entry.key, id }, reading)
    return server === undefined ? [] : [server]
  })
}

/** What variables ask for stands behind what the file says, and aside where it says it itself. */
function withDockerDefault(servers: readonly ServerConfig[], reading: Reading): readonly ServerConfig[] {
  if (!reading.docker.enabled || servers.some(({ id }) => id === DOCKER_ID)) return servers
  const added = createDockerDefault(reading)
  return added === undefined ? servers : [...servers, added]
}

/** Those that are servers of ours, where all of them are a mapping. */
function serverEntries(root: LocatedNode): readonly LocatedServer[] {
  const section = serverSection(root)
  const entries = section === undefined ? [] : entriesOf(section.node)
  return entries
    .filter((entry) => !isSkipped(entry))
    .map(({ key, ...entry }) => ({ ...entry, key: joinKey(section?.key ?? '', key) }))
}

/** A twin (`mcpServers` beside `mcp_servers`) is reported with the other sections. */
const serverSection = (root: LocatedNode): LocatedEntry | undefined =>
  entriesOf(root).find((entry) => camelCase(entry.key) === 'mcpServers')

const entriesOf = (node: LocatedNode): readonly LocatedEntry[] => (node.kind === 'map' ? node.entries : [])

/** Entries of the same file that are for others: a kit server's own settings, and what a kit client connects to. */
function isSkipped(entry: LocatedEntry): boolean {
  const type = writtenType(entry.node)
  return type === 'server' || type === 'client'
}

function writtenType(node: LocatedNode): unknown {
  const type = entriesOf(node).find(({ key }) => key === 'type')?.node
  return type?.kind === 'scalar' ? type.value : undefined
}

interface Ids {
  readonly taken: Map<string, Subject>
  readonly log: IssueLog
}

function claimId(name: string, subject: Subject, { taken, log }: Ids): string {
  const id = isServerId(name) ? name : slugServerId(name)
  const earlier = taken.get(id)
  if (id === '') log.error(subject, 'expected a name with a letter a-z or a digit in it, such as "my-server".')
  else if (id === BUILT_IN_SERVER)
    log.error(subject, `"${BUILT_IN_SERVER}" is the name of the gateway's own tools. Choose another.`)
  else if (earlier !== undefined) {
    const other = `${earlier.key} in line ${log.lineOf(earlier)}`
    log.error(subject, `its id would be "${id}", as that of ${other}. Rename one of them.`)
  } else taken.set(id, subject)
  return id
}

interface Named {
  readonly name: string
  readonly id: string
}

type Located = Subject & { readonly node: LocatedNode }

/** Which keys an entry has depends on its type, so that is looked at first. */
function readEntry(located: Located, named: Named, reading: Reading): ServerConfig | undefined {
  if (writtenType(located.node) !== 'docker-gateway') {
    const source = readSource(located, serverSchema, { ...named, reading })
    return source && readServer(source)
  }
  const source = readSource(located, dockerGatewaySchema, { ...named, reading })
  return source && readDockerGateway(source, reading.docker)
}

function readSource<Entry extends CommonEntry>(
  located: Located,
  schema: Part<Entry>,
  { name, id, reading }: Named & { readonly reading: Reading },
): EntrySource<Entry> | undefined {
  const { log, file, home, userHome } = reading
  const unset: [Subject, string][] = []
  const fromVariables = new Set<string>()
  const lookup = (variable: string): string | undefined => {
    const value = reading.lookup(variable)
    if (value !== undefined) fromVariables.add(value)
    return value
  }
  const normalised = normalise(located, schema, {
    log,
    lookup,
    onUnset: (subject, problem) => void unset.push([subject, problem]),
  })
  const entry = validate(schema, normalised, log)
  // A server that is switched off must not ask for its secrets.
  if (entry === undefined || isEnabled(entry)) for (const [subject, problem] of unset) log.error(subject, problem)
  if (entry === undefined) return undefined
  return {
    ...{ id, entry, home, userHome, log },
    givenName: name === id ? undefined : name,
    fromVariables: secretsAmong(fromVariables),
    spot: normalised.spot,
    place: { file, line: log.lineOf(located) },
  }
}
