import {
  BUILT_IN_SERVER,
  findPreset,
  isLoopback,
  isServerId,
  type Presets,
  SallyportError,
  slugServerId,
  toCamelCase,
} from '@sallyport/core'
import { DEFAULT_AUDIT, DEFAULT_GATEWAY, DEFAULT_SETTINGS, DEFAULT_TELEMETRY } from '../defaults.ts'
import { type IncludedFile, resolveIncludedPath } from '../home/included-file.ts'
import { readGovernance } from '../sections/governance-section.ts'
import { readContext, readExecutor, readIsolation } from '../sections/isolation-section.ts'
import { readJwt } from '../sections/jwt-section.ts'
import { readLabels } from '../sections/labels-section.ts'
import { NOT_ENFORCED_SANDBOX_KEYS, readSandboxSettings } from '../sections/sandbox-section.ts'
import { createDefaultDockerServer, DOCKER_ID } from '../servers/docker-gateway-entry.ts'
import type { DockerVariables } from '../servers/docker-variables.ts'
import { type IncludedServers, readIncludedServers } from '../servers/included-servers.ts'
import { entriesOf, readServerEntry, readType, validate } from '../servers/read-server-entry.ts'
import { readHeaders, readUrl } from '../servers/server-address.ts'
import { NOT_ENFORCED_SERVER_KEYS } from '../servers/server-keys.ts'
import type {
  AuditSettings,
  GatewaySettings,
  SandboxDefault,
  ServerConfig,
  Settings,
  TelemetrySettings,
} from '../settings.ts'
import { type ConfigIssue, joinKey, quote } from './config-issue.ts'
import { type AuditSection, type GatewaySection, sectionsSchema, type TelemetrySection } from './config-schema.ts'
import { createIssueLog, type IssueLog, type KeyLocation } from './issue-log.ts'
import type { LocatedEntry, LocatedNode, LocatedTree } from './located-tree.ts'
import { type ConfigNode, findRequestedKeys, normalize } from './normalize.ts'

export interface ConfigSource {
  readonly file: string
  readonly tree: LocatedTree
  readonly home: string
  readonly userHome: string
  readonly lookup: (name: string) => string | undefined
  readonly docker: DockerVariables
  /** The included files of agents; `undefined` if the config does not belong to a home. */
  readonly included?: readonly IncludedFile[] | undefined
}

export interface ConfigResult {
  /** Only to be used when there is no error. */
  readonly settings: Omit<Settings, 'profiles'>
  readonly errors: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  /** Keys that ask for a protection which this version does not provide. */
  readonly unenforced: readonly string[]
}

interface ReadContext extends ConfigSource {
  readonly sandboxDefault: SandboxDefault
  readonly log: IssueLog
  readonly unenforced: string[]
}

/** Reads the whole file and collects every error in it. It does not throw. */
export function readConfig(source: ConfigSource): ConfigResult {
  const { tree } = source
  const log = createIssueLog(source.file, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const unenforced = [...findUnenforcedSandboxKeys(tree.root)]
  const reading = { ...source, log, unenforced, sandboxDefault: findSandboxDefault(tree.root) }
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
  const nodeAt = (...path: string[]): ConfigNode =>
    path.reduce((node, step) => node.children.get(step) ?? node, normalised.node)
  const gateway = readGateway(sections?.gateway ?? {}, nodeAt('gateway'), log)
  const enabled = servers.filter((server) => server.enabled).length
  if (gateway.naming === 'bare' && enabled > 1) {
    log.error(
      nodeAt('gateway', 'naming'),
      `"bare" names are possible with one enabled server; got ${enabled}. Use "prefixed" or "mcp".`,
    )
  }
  const jwt = sections?.auth?.jwt
  return {
    gateway,
    jwt: jwt === undefined ? undefined : readJwt(jwt, nodeAt('auth', 'jwt'), log),
    audit: readAudit(sections?.audit ?? {}),
    governance: readGovernance(sections?.governance ?? {}, { file, node: nodeAt('governance'), log }),
    isolation: readIsolation(sections?.isolation ?? {}, nodeAt('isolation'), log),
    executor: readExecutor(sections?.agents ?? {}, nodeAt('agents'), log),
    context: readContext(sections?.context ?? {}, nodeAt('context'), log),
    labels: readLabels({ labels: sections?.labels ?? {}, sandbox: sections?.sandbox ?? {} }, nodeAt, log),
    sandbox: readSandboxSettings(sections?.sandbox ?? {}),
    telemetry: readTelemetry(sections?.telemetry ?? {}, nodeAt('telemetry'), log),
  }
}

/** Read before the sections, since servers depend on it. What cannot be read here is checked there; until then it restricts. */
function findSandboxDefault(root: LocatedNode): SandboxDefault {
  const sandbox = entriesOf(root).find(({ key }) => key === 'sandbox')
  const find = (wanted: string): unknown => {
    const value = sandbox && entriesOf(sandbox.node).find(({ key }) => key === wanted)?.node
    return value?.kind === 'scalar' ? (value.value ?? undefined) : value
  }
  const [wanted, driver] = [find('default'), find('driver')]
  const named = SANDBOX_DRIVERS.find((name) => name === wanted) ?? SANDBOX_DRIVERS.find((name) => name === driver)
  return { isolates: wanted !== undefined && wanted !== 'none', driver: named ?? 'auto' }
}

const SANDBOX_DRIVERS = ['bubblewrap', 'docker', 'podman'] as const

function findUnenforcedSandboxKeys(root: LocatedNode): readonly string[] {
  const sandbox = entriesOf(root).find(({ key }) => key === 'sandbox')
  return sandbox === undefined ? [] : findRequestedKeys(sandbox.node, sandbox.key, NOT_ENFORCED_SANDBOX_KEYS)
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

/** The servers of the files that `include` names, in that order. Problems name the file that they are in. */
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

/** The server from variables comes last, and only if the file does not define one with the same id. */
function addDockerDefault(servers: readonly ServerConfig[], reading: ReadContext): readonly ServerConfig[] {
  if (!reading.docker.enabled || servers.some(({ id }) => id === DOCKER_ID)) return servers
  const added = createDefaultDockerServer(reading)
  return added === undefined ? servers : [...servers, added]
}

/** The entries that are servers of the gateway; empty if the section is not a mapping. */
function listServerEntries(root: LocatedNode): readonly LocatedServer[] {
  const section = findServerSection(root)
  const entries = section === undefined ? [] : entriesOf(section.node)
  return entries
    .filter((entry) => !isSkipped(entry))
    .map(({ key, ...entry }) => ({ ...entry, key: joinKey(section?.key ?? '', key) }))
}

/** A duplicate (`mcpServers` beside `mcp_servers`) is reported with the other sections. */
const findServerSection = (root: LocatedNode): LocatedEntry | undefined =>
  entriesOf(root).find((entry) => toCamelCase(entry.key) === 'mcpServers')

/** Entries for other programs: the settings of a kit server, and the servers that a kit client connects to. */
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
    log.error(subject, `its id would be "${id}", the same as that of ${other}. Rename one of them.`)
  } else taken.set(id, subject)
  return id
}

function readAudit(section: AuditSection): AuditSettings {
  const { durability, required, retention } = DEFAULT_AUDIT
  return {
    durability: section.durability ?? durability,
    required: section.required ?? required,
    arguments: section.arguments ?? DEFAULT_AUDIT.arguments,
    retention: { age: section.retention?.age ?? retention.age, bytes: section.retention?.size ?? retention.bytes },
  }
}

function readTelemetry(section: TelemetrySection, node: ConfigNode, log: IssueLog): TelemetrySettings {
  return {
    otlp: section.otlp === undefined ? undefined : readOtlp(section.otlp, node.children.get('otlp') ?? node, log),
    prometheus: section.prometheus ?? DEFAULT_TELEMETRY.prometheus,
  }
}

function readOtlp(
  otlp: NonNullable<TelemetrySection['otlp']>,
  node: ConfigNode,
  log: IssueLog,
): TelemetrySettings['otlp'] {
  const { endpoint, headers = {} } = typeof otlp === 'string' ? { endpoint: otlp } : otlp
  const at = node.children.get('endpoint') ?? node
  if (endpoint === undefined) {
    log.error(node, 'expected "endpoint", such as "http://127.0.0.1:4318"; got none.')
    return undefined
  }
  const url = at.origin === 'unresolved' ? endpoint : readUrl(endpoint, at, log)
  if (url === undefined) return undefined
  return { endpoint: url, headers: readHeaders(headers, node.children.get('headers') ?? node, log) }
}

/** A server entry and its location. */
interface LocatedServer extends KeyLocation {
  readonly node: LocatedNode
}

/** `result` of a server must name a known preset: with an unknown one, results would not be limited as intended. */
function checkPresets(servers: readonly LocatedServer[], presets: Presets, log: IssueLog): void {
  for (const { node, key } of servers) {
    const result = node.kind === 'map' ? node.entries.find((entry) => entry.key === 'result') : undefined
    if (result?.node.kind !== 'scalar' || typeof result.node.value !== 'string') continue
    const problem = result.node.value.includes('${') ? undefined : findPresetProblem(result.node.value, presets)
    if (problem !== undefined) log.error({ offset: result.offset, key: joinKey(key, 'result') }, problem)
  }
}

function findPresetProblem(name: string, presets: Presets): string | undefined {
  try {
    findPreset(name, presets)
    return undefined
  } catch (error) {
    if (error instanceof SallyportError) return error.text
    throw error
  }
}

function readGateway(section: GatewaySection, node: ConfigNode, log: IssueLog): GatewaySettings {
  const host = section.host ?? DEFAULT_GATEWAY.host
  const at = node.children.get('host') ?? node
  const allowRemote = section.allowRemote ?? DEFAULT_GATEWAY.allowRemote
  if (!isLoopback(host) && !allowRemote && at.origin !== 'unresolved') {
    log.error(
      at,
      'this address can be reached from other machines. Anybody who reaches it can try to use your tools; the connection is not encrypted. ' +
        'Use 127.0.0.1, or write "allow_remote: true" beside it if a TLS proxy and tokens protect it.',
    )
  }
  checkEach(section.allowedHosts, node.children.get('allowedHosts'), (value, at) => checkHost(value, at, log))
  checkEach(section.allowedOrigins, node.children.get('allowedOrigins'), (value, at) => checkOrigin(value, at, log))
  return {
    host,
    port: section.port ?? DEFAULT_GATEWAY.port,
    allowRemote,
    naming: section.naming ?? DEFAULT_GATEWAY.naming,
    allowedHosts: section.allowedHosts ?? [],
    allowedOrigins: section.allowedOrigins ?? [],
    startupWait: section.startupWait ?? DEFAULT_GATEWAY.startupWait,
    linger: section.linger ?? DEFAULT_GATEWAY.linger,
    maxBodyBytes: section.maxBody ?? DEFAULT_GATEWAY.maxBodyBytes,
    maxSessions: section.maxSessions ?? DEFAULT_GATEWAY.maxSessions,
    maxCallsInFlight: section.maxCallsInFlight ?? DEFAULT_GATEWAY.maxCallsInFlight,
  }
}

function checkEach(
  values: readonly string[] | undefined,
  node: ConfigNode | undefined,
  check: (value: string, at: ConfigNode) => void,
): void {
  for (const [index, value] of (values ?? []).entries()) {
    const at = node?.children.get(index)
    if (at !== undefined) check(value, at)
  }
}

/** Only exact names: a wildcard would defeat the purpose of the list, which is to stop DNS rebinding. */
function checkHost(value: string, at: ConfigNode, log: IssueLog): void {
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i.test(value)) return
  log.error(
    at,
    'expected a host name as it appears in the Host header, such as "tools.example.org" or "10.0.0.7:4747".',
  )
}

function checkOrigin(value: string, at: ConfigNode, log: IssueLog): void {
  if (URL.canParse(value) && new URL(value).origin === value) return
  log.error(at, 'expected an exact origin in lower case, without a path, such as "https://tools.example.org".')
}
