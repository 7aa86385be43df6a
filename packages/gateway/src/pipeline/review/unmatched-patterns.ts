import {
  compileNameGlob,
  compileSelectors,
  didYouMean,
  findClosest,
  isNameGlob,
  type ParsedToolsFile,
  type PolicyFields,
  quoteText,
  type RuleSource,
  type ToolRef,
} from '@sallyport/core'
import type { Catalog, Offer } from '../../catalog/catalog.ts'
import type { ServerConfig, Settings } from '../../config/config.ts'

/** A pattern of the operator's that fits no tool. */
export interface UnmatchedPattern {
  readonly location: RuleSource
  readonly pattern: string
  readonly problem: string
  /** It was to restrict a tool that is there, and that is therefore open. */
  readonly leavesOpen: boolean
  /** It fits a tool that is there but for case, separators or the prefix. */
  readonly isMisspelled: boolean
}

export interface PatternSources {
  readonly catalog: Pick<Catalog, 'servers' | 'knows' | 'snapshot'>
  readonly settings: Pick<Settings, 'servers' | 'governance' | 'profiles'>
  readonly file: ParsedToolsFile
  /** Every form in which a tool may be written. */
  readonly namesOf: (offer: Offer) => readonly string[]
}

interface WrittenPattern {
  /** What it belongs to: `excludeTools of github`. */
  readonly where: string
  readonly pattern: string
  readonly location: RuleSource
  readonly restricts: boolean
}

/** To compare thousands of patterns with thousands of names would hold up everybody who is served. */
const MAX_COMPARED = 1_000_000

/** While a server is not known, nobody can tell what fits its tools; but a slip in the name of another's tool is one. */
export function findUnmatchedPatterns(sources: PatternSources): readonly UnmatchedPattern[] {
  const { catalog, settings } = sources
  const areKnown = catalog.servers.every((server) => catalog.knows(server))
  const ofServers = settings.servers.flatMap((server) => unmatchedOfServer(server, catalog))
  return [...ofServers, ...unmatchedOfAll(sources).filter(({ isMisspelled }) => areKnown || isMisspelled)]
}

function unmatchedOfAll(sources: PatternSources): readonly UnmatchedPattern[] {
  const { catalog, settings } = sources
  const tools = catalog.snapshot.tools
  const names = tools.map(sources.namesOf)
  const patterns = [...patternsOfFile(sources.file), ...patternsOfSettings(settings)]
  const known = patterns.length * tools.length > MAX_COMPARED ? [] : patterns
  const ofAll = known.filter(({ pattern }) => {
    const matches = compileNameGlob(pattern)
    return !names.some((forms) => forms.some(matches)) && !namesOtherServer(pattern, catalog.servers)
  })
  return [...ofAll.map((one) => describe(one, names.flat())), ...unmatchedOfProfiles(sources, names.flat())]
}

type ServerEntry = Settings['servers'][number]

/** `includeTools` and `excludeTools`: names that the server itself gives its tools. */
function unmatchedOfServer(
  { id, place, includeTools = [], excludeTools }: ServerEntry,
  catalog: PatternSources['catalog'],
): readonly UnmatchedPattern[] {
  const offers = catalog.snapshot.tools.filter(({ server }) => server === id)
  // A server that offers nothing may only not have started well.
  if (offers.length === 0 || !catalog.knows(id)) return []
  const names = offers.map(({ name }) => name)
  const written = [
    ...includeTools.map((pattern) => ({ where: `includeTools of ${id}`, pattern, location: place, restricts: false })),
    ...excludeTools.map((pattern) => ({ where: `excludeTools of ${id}`, pattern, location: place, restricts: true })),
  ]
  return written.filter(({ pattern }) => !names.some(compileNameGlob(pattern))).map((one) => describe(one, names))
}

const patternsOfFile = ({ path, entries }: ParsedToolsFile): readonly WrittenPattern[] =>
  entries
    .filter(({ key }) => isNameGlob(key))
    .map(({ key, line, fields }) => ({
      ...{ where: 'tools.yaml', pattern: key, location: { file: path, line } },
      restricts: isRestricting(fields),
    }))

const patternsOfSettings = ({ governance }: PatternSources['settings']): readonly WrittenPattern[] => [
  ...governance.patterns.map(({ tool, fields, place }) => ({
    ...{ where: 'governance.patterns', pattern: tool, location: place },
    restricts: isRestricting(fields),
  })),
  ...governance.autoApprove.map(({ tool, place }) => ({
    ...{ where: 'governance.auto_approve', pattern: tool, location: place, restricts: false },
  })),
]

function unmatchedOfProfiles(
  { catalog, settings }: PatternSources,
  names: readonly string[],
): readonly UnmatchedPattern[] {
  const offers = catalog.snapshot.tools
  const refs = offers.map(({ server, name }) => ({ server, tool: name }))
  const wires = new Map(refs.map((ref, at) => [ref, offers[at]?.wire]))
  const world = { servers: catalog.servers, wireName: (ref: ToolRef) => wires.get(ref) }
  return [...settings.profiles.values()].flatMap(({ agent, variant, selectedMcpTools, place: location }) =>
    compileSelectors(selectedMcpTools, refs, world)
      .unmatched.map((selector) => ({ selector, pattern: selector.replace(/^!/, '') }))
      .filter(({ pattern }) => !namesOtherServer(pattern, catalog.servers))
      .map(({ selector, pattern }) => {
        const where = `the profile ${agent}.${variant}`
        return describe({ where, pattern, location, restricts: selector !== pattern }, [...names, ...catalog.servers])
      }),
  )
}

function describe({ where, pattern, location, restricts }: WrittenPattern, names: readonly string[]): UnmatchedPattern {
  const matches = compileNameGlob(fold(pattern))
  const respelt = names.find((name) => matches(fold(name)))
  const meant = respelt ?? guessName(pattern, names)
  const hint = isNameGlob(pattern) ? 'a name such as ' : ''
  const guess = meant === undefined ? '' : ` Did you mean ${hint}${quoteText(meant, 80)}?`
  return {
    location,
    pattern,
    problem: `${where}: no tool is called ${quoteText(pattern, 60)}.${guess}`,
    leavesOpen: restricts && meant !== undefined,
    isMisspelled: respelt !== undefined,
  }
}

/** A tool whose name is like what the pattern begins with. */
function guessName(pattern: string, names: readonly string[]): string | undefined {
  const [head = ''] = pattern.split(/[*?]/)
  // Then the slip is further on, where nothing tells what was meant.
  if (isNameGlob(pattern) && names.some((name) => name.startsWith(head))) return undefined
  const like = findClosest(
    head,
    new Set(names.map((name) => (isNameGlob(pattern) ? name.slice(0, head.length) : name))),
  )
  return like === undefined ? undefined : names.find((name) => name.startsWith(like))
}

/** Without what people write one way or another: case, separators, the prefix of canonical names. */
const fold = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^mcp_+/, '')
    .replaceAll(/[-_\s/]/g, '')

/** One file may be shared by people who have different servers: it names one that is not here, and none that is like it. */
function namesOtherServer(pattern: string, servers: readonly string[]): boolean {
  const [, server = ''] = /^mcp__([^*?]+?)__/.exec(pattern) ?? /^([^*?/]+)\//.exec(pattern) ?? []
  return server !== '' && !servers.includes(server) && findClosest(server, servers) === undefined
}

/** Fields that take nothing away from a tool, whatever they say. */
const NON_RESTRICTING_FIELDS: ReadonlySet<string> = new Set([
  ...['category', 'unattendedPaths', 'descriptionOverride', 'rename', 'essential', 'result', 'note'],
])
const NON_RESTRICTING_VALUES: readonly unknown[] = [false, 'low', 'allow']

/** Whether an entry takes something away from the tools that it fits. */
export const isRestricting = (fields: PolicyFields): boolean =>
  Object.entries(fields).some(
    ([field, value]) => !NON_RESTRICTING_FIELDS.has(field) && !NON_RESTRICTING_VALUES.includes(value),
  )

/** Which names and patterns of `isolatedTools` match no tool of the server (ISO-1); undefined where all of them do. */
export function findUnknownIsolatedTools(
  { id, isolatedTools, place }: Pick<ServerConfig, 'id' | 'isolatedTools' | 'place'>,
  tools: readonly string[],
): string | undefined {
  const unknown = isolatedTools.filter((pattern) => !tools.some(compileNameGlob(pattern)))
  if (unknown.length === 0) return undefined
  const named = unknown.map((name) => `${quoteText(name, 60)}.${didYouMean(name, tools)}`)
  return `isolatedTools of ${id} (${place.file}:${place.line}): the server has no tool ${named.join(' And no ')}`
}
