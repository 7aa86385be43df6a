import { BUILT_IN_SERVER, isServerId, secretsAmong, slugServerId } from '@sallyport/core'
import { type ConfigIssue, joinKey } from './config-issue.ts'
import {
  camelCase,
  PROTECTING_SECTIONS,
  PROTECTING_SERVER_KEYS,
  sectionsSchema,
  serverSchema,
} from './config-schema.ts'
import { DEFAULT_AUDIT } from './defaults.ts'
import { readAudit, readGateway } from './gateway-section.ts'
import { createIssueLog, type IssueLog, type Subject } from './issue-log.ts'
import { readJwt } from './jwt-section.ts'
import { type LocatedEntry, type LocatedNode, parseTree } from './located-tree.ts'
import { normalise, type Spot } from './normalise.ts'
import { promisesIn } from './promised-keys.ts'
import { isEnabled, readServer } from './server-entry.ts'
import type { ServerConfig, Settings } from './settings.ts'
import { validate } from './validate.ts'

export interface ConfigText {
  readonly file: string
  readonly text: string
  readonly home: string
  readonly userHome: string
  readonly lookup: (name: string) => string | undefined
}

export interface ReadConfig {
  /** Only to be used when there is no error. */
  readonly settings: Settings
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
  const servers = readServers(tree.root, reading)
  const settings = { ...readSections(tree.root, servers, reading), servers }
  return { settings, errors: log.errors, warnings: log.warnings, unenforced }
}

function readSections(root: LocatedNode, servers: readonly ServerConfig[], { log, lookup }: Reading) {
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
    audit: sections?.audit === undefined ? DEFAULT_AUDIT : readAudit(sections.audit),
  }
}

const NO_ENTRIES: LocatedNode = { kind: 'map', entries: [] }
const isNothing = (node: LocatedNode): boolean => node.kind === 'scalar' && node.value === null

function readServers(root: LocatedNode, reading: Reading): readonly ServerConfig[] {
  // A twin (`mcpServers` beside `mcp_servers`) is reported with the other sections.
  const section = entriesOf(root).find((entry) => camelCase(entry.key) === 'mcpServers')
  if (section === undefined || isNothing(section.node)) return []
  if (section.node.kind !== 'map') {
    reading.log.error(section, 'expected a mapping of names to servers, such as {files: {command: npx, args: […]}}.')
    return []
  }
  const taken = new Map<string, Subject>()
  return section.node.entries.flatMap((entry) => {
    const subject = { offset: entry.offset, key: joinKey(section.key, entry.key) }
    if (isSkipped(entry, subject, reading)) return []
    reading.unenforced.push(...promisesIn(entry.node, subject.key, PROTECTING_SERVER_KEYS))
    const id = claimId(entry.key, subject, { taken, log: reading.log })
    const server = readEntry({ ...subject, node: entry.node }, { name: entry.key, id }, reading)
    return server === undefined ? [] : [server]
  })
}

const entriesOf = (node: LocatedNode): readonly LocatedEntry[] => (node.kind === 'map' ? node.entries : [])

/** Entries of the same file that are for others: a kit server's own settings, and what a kit client connects to. */
function isSkipped(entry: LocatedEntry, subject: Subject, { log }: Reading): boolean {
  const type = entriesOf(entry.node).find(({ key }) => key === 'type')?.node
  if (type?.kind !== 'scalar') return false
  if (type.value === 'docker-gateway')
    log.warn(subject, 'the type "docker-gateway" is not supported yet; the entry is skipped.')
  return type.value === 'server' || type.value === 'client' || type.value === 'docker-gateway'
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

function readEntry(
  located: Subject & { readonly node: LocatedNode },
  { name, id }: Named,
  reading: Reading,
): ServerConfig | undefined {
  const { log } = reading
  const unset: [Subject, string][] = []
  const fromVariables = new Set<string>()
  const lookup = (variable: string): string | undefined => {
    const value = reading.lookup(variable)
    if (value !== undefined) fromVariables.add(value)
    return value
  }
  const normalised = normalise(located, serverSchema, {
    log,
    lookup,
    onUnset: (subject, problem) => void unset.push([subject, problem]),
  })
  const entry = validate(serverSchema, normalised, log)
  // A server that is switched off must not ask for its secrets.
  if (entry === undefined || isEnabled(entry)) for (const [subject, problem] of unset) log.error(subject, problem)
  if (entry === undefined) return undefined
  return readServer({
    id,
    givenName: name === id ? undefined : name,
    entry,
    fromVariables: secretsAmong(fromVariables),
    spot: normalised.spot,
    place: { file: reading.file, line: log.lineOf(located) },
    home: reading.home,
    userHome: reading.userHome,
    log,
  })
}
