import { BUILT_IN_SERVER, isServerId, slugServerId, toCamelCase } from '@sallyport/core'
import { readAudit } from './audit-section.ts'
import { type ConfigIssue, joinKey, quote } from './config-issue.ts'
import { NOT_ENFORCED_SECTIONS, sectionsSchema } from './config-schema.ts'
import { DEFAULT_SETTINGS } from './defaults.ts'
import { createDefaultDockerServer, DOCKER_ID } from './docker-gateway-entry.ts'
import type { DockerVariables } from './docker-variables.ts'
import { readGateway } from './gateway-section.ts'
import { readGovernance } from './governance-section.ts'
import { type IncludedFile, resolveIncludedPath } from './included-file.ts'
import { type IncludedServers, readIncludedServers } from './included-servers.ts'
import { readContext, readExecutor, readIsolation } from './isolation-section.ts'
import { createIssueLog, type IssueLog, type KeyLocation } from './issue-log.ts'
import { readJwt } from './jwt-section.ts'
import type { LocatedEntry, LocatedNode, LocatedTree } from './located-tree.ts'
import { type ConfigNode, normalize } from './normalise.ts'
import { findRequestedKeys } from './promised-keys.ts'
import { entriesOf, readServerEntry, readType } from './read-entry.ts'
import { NOT_ENFORCED_SERVER_KEYS } from './server-keys.ts'
import { checkPresets, type LocatedServer } from './server-presets.ts'
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

export interface ConfigResult {
  /** Only to be used when there is no error. */
  readonly settings: Omit<Settings, 'profiles'>
  readonly errors: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** The keys that ask for a protection which this version does not give. */
  readonly unenforced: readonly string[]
}

interface ReadContext extends ConfigSource {
  readonly log: IssueLog
  readonly unenforced: string[]
}

/** Everything the file says and everything that is wrong with it. It does not throw. */
export function readConfig(source: ConfigSource): ConfigResult {
  const { tree } = source
  const log = createIssueLog(source.file, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const unenforced = [...findRequestedKeys(tree.root, '', NOT_ENFORCED_SECTIONS)]
  const reading = { ...source, log, unenforced }
  const own = addDockerDefault(readServers(tree.root, reading), reading)
  const others = readIncludes(tree.root, own, reading)
  const servers = [...own, ...others.servers]
  const settings = { ...readSections(tree.root, servers, reading), servers }
  checkPresets(listServerEntries(tree.root), settings.context.presets, log)
  const errors = [...log.errors, ...others.errors]
  return { settings, errors, warnings: [...log.warnings, ...others.warnings], unenforced }
}

function readSections(root: LocatedNode, servers: readonly ServerConfig[], { file, log, lookup }: ReadContext) {
  const located = { node: isEmptyNode(root) ? NO_ENTRIES : root, offset: 0, key: '' }
  const onUnset = (subject: KeyLocation, problem: string): void => log.error(subject, problem)
  const normalised = normalize(located, sectionsSchema, { log, lookup, onUnset })
  const sections = validate(sectionsSchema, normalised, log)
  const spotOf = (...path: string[]): ConfigNode =>
    path.reduce((spot, step) => spot.children.get(step) ?? spot, normalised.node)
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
    governance: readGovernance(sections?.governance ?? {}, { file, node: spotOf('governance'), log }),
    isolation: readIsolation(sections?.isolation ?? {}, spotOf('isolation'), log),
    executor: readExecutor(sections?.agents ?? {}, spotOf('agents'), log),
    context: readContext(sections?.context ?? {}, spotOf('context'), log),
    telemetry: readTelemetry(sections?.telemetry ?? {}, spotOf('telemetry'), log),
  }
}

const NO_ENTRIES: LocatedNode = { kind: 'map', entries: [] }
const isEmptyNode = (node: LocatedNode): boolean => node.kind === 'scalar' && node.value === null

function readServers(root: LocatedNode, reading: ReadContext): readonly ServerConfig[] {
  const section = findServerSection(root)
  if (section === undefined || isEmptyNode(section.node)) return []
  if (section.node.kind !== 'map') {
    reading.log.error(section, 'expected a mapping of names to servers, such as {files: {command: npx, args: […]}}.')
    return []
  }
  const taken = new Map<string, KeyLocation>()
  return section.node.entries.flatMap((entry) => {
    const subject = { offset: entry.offset, key: joinKey(section.key, entry.key) }
    if (isSkipped(entry)) return []
    reading.unenforced.push(...findRequestedKeys(entry.node, subject.key, NOT_ENFORCED_SERVER_KEYS))
    const id = claimId(entry.key, subject, { taken, log: reading.log })
    const server = readServerEntry({ ...subject, node: entry.node }, { name: entry.key, id }, reading)
    return server === undefined ? [] : [server]
  })
}

/** The servers of the files that `include` names, in its order. Problems say in which file they are. */
function readIncludes(root: LocatedNode, own: readonly ServerConfig[], reading: ReadContext): IncludedServers {
  const section = entriesOf(root).find(({ key }) => key === 'include')
  if (section === undefined || isEmptyNode(section.node)) return NONE
  const items = section.node.kind === 'list' ? section.node.items : [section]
  return items.reduce<IncludedServers>((before, { node, offset }) => {
    const file = findIncludedFile(node, { offset, key: section.key }, reading)
    if (file === undefined) return before
    const servers = [...own, ...before.servers]
    const read = readIncludedServers(file, { ...reading, servers, port: findPort(root) })
    return {
      servers: [...before.servers, ...read.servers],
      errors: [...before.errors, ...read.errors],
      warnings: [...before.warnings, ...read.warnings],
    }
  }, NONE)
}

const NONE: IncludedServers = { servers: [], errors: [], warnings: [] }

function findIncludedFile(node: LocatedNode, subject: KeyLocation, reading: ReadContext): IncludedFile | undefined {
  const { log, home, included } = reading
  const path = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : ''
  if (path.trim() === '' || path.includes('\0')) {
    log.error(subject, 'expected a list of files, such as [~/.gemini/settings.json].')
    return undefined
  }
  const file = included?.find((one) => one.path === resolveIncludedPath(home, path))
  if (file?.bytes !== undefined) return file
  log.error(
    subject,
    `${quote(path)}: ${file?.problem ?? 'it was not read: only a config file of a home can include others.'}`,
  )
  return undefined
}

function findPort(root: LocatedNode): number {
  const gateway = entriesOf(root).find(({ key }) => key === 'gateway')
  const port = gateway && entriesOf(gateway.node).find(({ key }) => key === 'port')?.node
  return port?.kind === 'scalar' && typeof port.value === 'number' ? port.value : DEFAULT_SETTINGS.gateway.port
}

/** What variables ask for stands behind what the file says, and aside where it says it itself. */
function addDockerDefault(servers: readonly ServerConfig[], reading: ReadContext): readonly ServerConfig[] {
  if (!reading.docker.enabled || servers.some(({ id }) => id === DOCKER_ID)) return servers
  const added = createDefaultDockerServer(reading)
  return added === undefined ? servers : [...servers, added]
}

/** Those that are servers of ours, where all of them are a mapping. */
function listServerEntries(root: LocatedNode): readonly LocatedServer[] {
  const section = findServerSection(root)
  const entries = section === undefined ? [] : entriesOf(section.node)
  return entries
    .filter((entry) => !isSkipped(entry))
    .map(({ key, ...entry }) => ({ ...entry, key: joinKey(section?.key ?? '', key) }))
}

/** A twin (`mcpServers` beside `mcp_servers`) is reported with the other sections. */
const findServerSection = (root: LocatedNode): LocatedEntry | undefined =>
  entriesOf(root).find((entry) => toCamelCase(entry.key) === 'mcpServers')

/** Entries of the same file that are for others: a kit server's own settings, and what a kit client connects to. */
function isSkipped(entry: LocatedEntry): boolean {
  const type = readType(entry.node)
  return type === 'server' || type === 'client'
}

interface Ids {
  readonly taken: Map<string, KeyLocation>
  readonly log: IssueLog
}

function claimId(name: string, subject: KeyLocation, { taken, log }: Ids): string {
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
