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

/** A pattern of the operator that matches no tool. */
export interface UnmatchedPattern {
  readonly location: RuleSource
  readonly pattern: string
  readonly problem: string
  /** It should restrict a tool that exists, so that tool is not restricted. */
  readonly leavesOpen: boolean
  /** It would match a tool without regard to case, separators and prefix. */
  readonly isMisspelled: boolean
}

export interface PatternSources {
  readonly catalog: Pick<Catalog, 'servers' | 'knows' | 'snapshot'>
  readonly settings: Pick<Settings, 'servers' | 'governance' | 'profiles'>
  readonly file: ParsedToolsFile
  /** Every name by which people may write a tool. */
  readonly namesOf: (offer: Offer) => readonly string[]
}

interface WrittenPattern {
  /** The setting that contains it, such as `excludeTools of github`. */
  readonly where: string
  readonly pattern: string
  readonly location: RuleSource
  readonly restricts: boolean
}

/** Comparing thousands of patterns with thousands of names would block the gateway. */
const MAX_COMPARED = 1_000_000

/** While the catalog of a server is unknown, only patterns are reported that misspell a known tool. */
export function findUnmatchedPatterns(sources: PatternSources): readonly UnmatchedPattern[] {
  const { catalog, settings } = sources
  const areKnown = catalog.servers.every((server) => catalog.knows(server))
  const ofServers = settings.servers.flatMap((server) => unmatchedOfServer(server, catalog))
  return [...ofServers, ...unmatchedOfAll(sources).filter(({ isMisspelled }) => areKnown || isMisspelled)]
}

function unmatchedOfAll(sources: PatternSources): readonly UnmatchedPattern[] {
  const { catalog, settings } = sources
  const tools = catalog.snapshot.allTools
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
  { id, location, includeTools = [], excludeTools }: ServerEntry,
  catalog: PatternSources['catalog'],
): readonly UnmatchedPattern[] {
  const offers = catalog.snapshot.allTools.filter(({ server }) => server === id)
  // A server without tools may just have failed to start.
  if (offers.length === 0 || !catalog.knows(id)) return []
  const names = offers.map(({ name }) => name)
  const written = [
    ...includeTools.map((pattern) => ({ where: `includeTools of ${id}`, pattern, location, restricts: false })),
    ...excludeTools.map((pattern) => ({ where: `excludeTools of ${id}`, pattern, location, restricts: true })),
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
  ...governance.patterns.map(({ tool, fields, location }) => ({
    ...{ where: 'governance.patterns', pattern: tool, location },
    restricts: isRestricting(fields),
  })),
  ...governance.autoApprove.map(({ tool, location }) => ({
    ...{ where: 'governance.auto_approve', pattern: tool, location, restricts: false },
  })),
]

function unmatchedOfProfiles(
  { catalog, settings }: PatternSources,
  names: readonly string[],
): readonly UnmatchedPattern[] {
  const offers = catalog.snapshot.allTools
  const refs = offers.map(({ server, name }) => ({ server, tool: name }))
  const wires = new Map(refs.map((ref, at) => [ref, offers[at]?.wire]))
  const world = { servers: catalog.servers, wireName: (ref: ToolRef) => wires.get(ref) }
  return [...settings.profiles.values()].flatMap(({ agent, variant, selectedMcpTools, location }) =>
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
  const sameFolded = names.find((name) => matches(fold(name)))
  const likely = sameFolded ?? guessName(pattern, names)
  const hint = isNameGlob(pattern) ? 'a name such as ' : ''
  const guess = likely === undefined ? '' : ` Did you mean ${hint}${quoteText(likely, 80)}?`
  return {
    location,
    pattern,
    problem: `${where}: no tool is called ${quoteText(pattern, 60)}.${guess}`,
    leavesOpen: restricts && likely !== undefined,
    isMisspelled: sameFolded !== undefined,
  }
}

/** A tool whose name is similar to the beginning of the pattern. */
function guessName(pattern: string, names: readonly string[]): string | undefined {
  const [head = ''] = pattern.split(/[*?]/)
  // Then the mistake is further on, and there is nothing to guess from.
  if (isNameGlob(pattern) && names.some((name) => name.startsWith(head))) return undefined
  const like = findClosest(
    head,
    new Set(names.map((name) => (isNameGlob(pattern) ? name.slice(0, head.length) : name))),
  )
  return like === undefined ? undefined : names.find((name) => name.startsWith(like))
}

/** Removes what people write in different ways: case, separators, the prefix of canonical names. */
const fold = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^mcp_+/, '')
    .replaceAll(/[-_\s/]/g, '')

/** Whether the pattern names a server that is not configured here and is not a misspelt one: people with different servers may share a file. */
function namesOtherServer(pattern: string, servers: readonly string[]): boolean {
  const [, server = ''] = /^mcp__([^*?]+?)__/.exec(pattern) ?? /^([^*?/]+)\//.exec(pattern) ?? []
  return server !== '' && !servers.includes(server) && findClosest(server, servers) === undefined
}

/** Fields that never restrict a tool, whatever their value. */
const NON_RESTRICTING_FIELDS: ReadonlySet<string> = new Set([
  ...['category', 'unattendedPaths', 'descriptionOverride', 'rename', 'essential', 'result', 'note'],
])
const NON_RESTRICTING_VALUES: readonly unknown[] = [false, 'low', 'allow']

/** Whether an entry restricts the tools that it matches. */
export const isRestricting = (fields: PolicyFields): boolean =>
  Object.entries(fields).some(
    ([field, value]) => !NON_RESTRICTING_FIELDS.has(field) && !NON_RESTRICTING_VALUES.includes(value),
  )

/** Which names and patterns of `isolatedTools` match no tool of the server (ISO-1); `undefined` if all of them do. */
export function findUnknownIsolatedTools(
  { id, isolatedTools, location }: Pick<ServerConfig, 'id' | 'isolatedTools' | 'location'>,
  tools: readonly string[],
): string | undefined {
  const unknown = isolatedTools.filter((pattern) => !tools.some(compileNameGlob(pattern)))
  if (unknown.length === 0) return undefined
  const named = unknown.map((name) => `${quoteText(name, 60)}.${didYouMean(name, tools)}`)
  return `isolatedTools of ${id} (${location.file}:${location.line}): the server has no tool ${named.join(' And no ')}`
}
