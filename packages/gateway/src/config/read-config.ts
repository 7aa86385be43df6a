import { BUILT_IN_SERVER, camelCase, isServerId, slugServerId } from '@sallyport/core'
import { readAudit } from './audit-section.ts'
import { type ConfigIssue, joinKey, quote } from './config-issue.ts'
import { PROTECTING_SECTIONS, sectionsSchema } from './config-schema.ts'
import { DEFAULT_SETTINGS } from './defaults.ts'
import { createDockerDefault, DOCKER_ID } from './docker-gateway-entry.ts'
import type { DockerVariables } from './docker-variables.ts'
import { readGateway } from './gateway-section.ts'
import { readGovernance } from './governance-section.ts'
import { type IncludedFile, includedPath } from './included-file.ts'
import { type IncludedServers, readIncludedServers } from './included-servers.ts'
import { readContext, readExecutor, readIsolation } from './isolation-section.ts'
import { createIssueLog, type IssueLog, type Subject } from './issue-log.ts'
import { readJwt } from './jwt-section.ts'
import type { LocatedEntry, LocatedNode, LocatedTree } from './located-tree.ts'
import { normalise, type Spot } from './normalise.ts'
import { promisesIn } from './promised-keys.ts'
import { entriesOf, readEntry, writtenType } from './read-entry.ts'
import { PROTECTING_SERVER_KEYS } from './server-keys.ts'
import { judgePresets, type LocatedServer } from './server-presets.ts'
import type { ServerConfig, Settings } from './settings.ts'
import { readTelemetry } from './telemetry-section.ts'
import { validate } from './validate.ts'

export interface ConfigSource {
  readonly file: string
  readonly tree: LocatedTree
  readonly home: string
  readonly userHome: string
  readonly lookup: (name: string) => string | undefined
  readonly docker: DockerVariables
  /** Files of agents that the config includes; undefined where it is no file of a home. */
  readonly included?: readonly IncludedFile[] | undefined
}

export interface ReadConfig {
  /** Only to be used when there is no error. */
  readonly settings: Omit<Settings, 'profiles'>
  readonly errors: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** The keys that ask for a protection which this version does not give. */
  readonly unenforced: readonly string[]
}

interface Reading extends ConfigSource {
  readonly log: IssueLog
  readonly unenforced: string[]
}

/** Everything the file says and everything that is wrong with it. It does not throw. */
export function readConfig(source: ConfigSource): ReadConfig {
  const { tree } = source
  const log = createIssueLog(source.file, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const unenforced = [...promisesIn(tree.root, '', PROTECTING_SECTIONS)]
  const reading = { ...source, log, unenforced }
  const own = withDockerDefault(readServers(tree.root, reading), reading)
  const others = readIncludes(tree.root, own, reading)
  const servers = [...own, ...others.servers]
  const settings = { ...readSections(tree.root, servers, reading), servers }
  judgePresets(serverEntries(tree.root), settings.context.presets, log)
  const errors = [...log.errors, ...others.errors]
  return { settings, errors, warnings: [...log.warnings, ...others.warnings], unenforced }
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

/** The servers of the files that `include` names, in its order. Problems say in which file they are. */
function readIncludes(root: LocatedNode, own: readonly ServerConfig[], reading: Reading): IncludedServers {
  const section = entriesOf(root).find(({ key }) => key === 'include')
  if (section === undefined || isNothing(section.node)) return NONE
  const items = section.node.kind === 'list' ? section.node.items : [section]
  return items.reduce<IncludedServers>((before, { node, offset }) => {
    const file = includedFile(node, { offset, key: section.key }, reading)
    if (file === undefined) return before
    const servers = [...own, ...before.servers]
    const read = readIncludedServers(file, { ...reading, servers, port: portIn(root) })
    return {
      servers: [...before.servers, ...read.servers],
      errors: [...before.errors, ...read.errors],
      warnings: [...before.warnings, ...read.warnings],
    }
  }, NONE)
}

const NONE: IncludedServers = { servers: [], errors: [], warnings: [] }

function includedFile(node: LocatedNode, subject: Subject, reading: Reading): IncludedFile | undefined {
  const { log, home, included } = reading
  const path = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : ''
  if (path.trim() === '' || path.includes('\0')) {
    log.error(subject, 'expected a list of files, such as [~/.gemini/settings.json].')
    return undefined
  }
  const file = included?.find((one) => one.path === includedPath(home, path))
  if (file?.bytes !== undefined) return file
  log.error(
    subject,
    `${quote(path)}: ${file?.problem ?? 'it was not read: only a config file of a home can include others.'}`,
  )
  return undefined
}

function portIn(root: LocatedNode): number {
  const gateway = entriesOf(root).find(({ key }) => key === 'gateway')
  const port = gateway && entriesOf(gateway.node).find(({ key }) => key === 'port')?.node
  return port?.kind === 'scalar' && typeof port.value === 'number' ? port.value : DEFAULT_SETTINGS.gateway.port
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

/** Entries of the same file that are for others: a kit server's own settings, and what a kit client connects to. */
function isSkipped(entry: LocatedEntry): boolean {
  const type = writtenType(entry.node)
  return type === 'server' || type === 'client'
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
