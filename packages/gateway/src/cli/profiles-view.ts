import {
  type CompiledSelectors,
  compileSelectors,
  messageOf,
  plainName,
  quoteText,
  SallyportError,
} from '@sallyport/core'
import type { Catalog } from '../catalog/catalog.ts'
import {
  agentSlug,
  DEFAULT_VARIANT,
  type EffectiveProfile,
  loadSettings,
  type ProfileRef,
  ProfilesEditor,
  profileKey,
} from '../config/config.ts'
import { loadStoredCatalog } from '../replay/replay.ts'
import { openStoredCatalogs } from '../store/store.ts'
import type { CliContext } from './cli-context.ts'
import { type FoundHome, findHome } from './find-home.ts'
import type { GlobalFlags } from './global-flags.ts'

/** The profiles of a home, and what is known of the tools that they select. No gateway is needed, and none started. */
export interface ProfilesView {
  readonly editor: ProfilesEditor
  /** Servers as they were last heard of; undefined where that cannot be told. */
  readonly catalog: Catalog | undefined
  /** Servers of which nothing is known yet. */
  readonly unknownServers: readonly string[]
  /** Why nothing is known of the servers. */
  readonly problem: string | undefined
}

export async function readProfilesView(context: CliContext, flags: GlobalFlags): Promise<ProfilesView> {
  const found = await findHome(context, flags)
  const editor = new ProfilesEditor({ home: found.home, state: found.state })
  try {
    const catalog = await readCatalog(context, found)
    const unknownServers = catalog.servers.filter((server) => !catalog.knows(server))
    return { editor, catalog, unknownServers, problem: undefined }
  } catch (error) {
    return { editor, catalog: undefined, unknownServers: [], problem: messageOf(error) }
  }
}

async function readCatalog({ environment }: CliContext, { home, content, state }: FoundHome): Promise<Catalog> {
  // A profiles.json with a mistake is told by whoever reads it.
  const files = new Map(content.files)
  files.delete('profiles.json')
  const { settings } = await loadSettings({ home: home.path, environment, content: { ...content, files } })
  const kept = openStoredCatalogs(state)
  try {
    return await loadStoredCatalog(settings, kept)
  } finally {
    kept.close()
  }
}

/** `claude-code.reviewer`, or an agent alone for its default. */
export function parseProfileRef(typed: string): ProfileRef {
  const dot = typed.indexOf('.')
  const agent = agentSlug(dot < 0 ? typed : typed.slice(0, dot))
  const variant = dot < 0 ? DEFAULT_VARIANT : typed.slice(dot + 1)
  if (agent !== '' && variant !== '') return { agent, variant }
  throw new SallyportError('USAGE', `${quoteText(typed, 80)} is not the name of a profile.`, {
    hint: 'Write <agent>.<variant>, such as claude-code.reviewer.',
  })
}

export interface ProfileReport extends Omit<EffectiveProfile, 'place'> {
  readonly name: string
  /** Nothing where it does not stand in the file. */
  readonly line?: number
  /** Nothing where nothing is known of the tools. */
  readonly tools?: {
    readonly selected: readonly string[]
    readonly available: number
    readonly unmatched: readonly string[]
  }
}

/** A profile, and what its selection comes to. */
export function createProfileReport({ place, ...profile }: EffectiveProfile, { catalog }: ProfilesView): ProfileReport {
  const report = { name: profileKey(profile.agent, profile.variant), ...profile, ...(place && { line: place.line }) }
  if (catalog === undefined) return report
  const { tools } = catalog.snapshot
  const { includes, unmatched } = compileProfileSelectors(catalog, profile.selectedMcpTools)
  const selected = tools.filter(({ server, name }) => includes({ server, tool: name }))
  const names = selected.map(({ server, name }) => `${server}/${name}`)
  return { ...report, tools: { selected: names, available: tools.length, unmatched } }
}

function compileProfileSelectors(catalog: Catalog, selectors: readonly string[] | undefined): CompiledSelectors {
  const { tools, toolNames } = catalog.snapshot
  const refs = tools.map(({ server, name }) => ({ server, tool: name }))
  return compileSelectors(selectors, refs, { servers: catalog.servers, wireName: (ref) => toolNames.wireName(ref) })
}

/** Whether tools are known and these selections together leave none of them. */
export function leavesNoTools(
  { catalog, unknownServers }: ProfilesView,
  selections: readonly (readonly string[] | undefined)[],
) {
  if (selections.some((selection) => selection?.length === 0)) return true
  if (catalog === undefined || unknownServers.length > 0) return false
  const compiled = selections.map((selection) => compileProfileSelectors(catalog, selection))
  const { tools } = catalog.snapshot
  return !tools.some(({ server, name }) => compiled.every(({ includes }) => includes({ server, tool: name })))
}

/** Sentences about selectors that match nothing, for people. */
export function listProfileWarnings(
  { name, tools, selectedMcpTools }: ProfileReport,
  sight: ProfilesView,
): readonly string[] {
  if (tools === undefined) return sight.problem === undefined ? [] : [`Nothing is known of the tools: ${sight.problem}`]
  const waiting = sight.unknownServers.filter((server) =>
    tools.unmatched.some((selector) => mentionsServer(selector, server)),
  )
  const stray = tools.unmatched.filter((selector) => !waiting.some((server) => mentionsServer(selector, server)))
  const told = stray.slice(0, MAX_SHOWN).map((selector) => `${name}: ${quoteText(selector, 100)} matches nothing.`)
  const more = stray.length - MAX_SHOWN
  return [
    ...told,
    ...(more > 0 ? [`${name}: ${more} more selectors match nothing.`] : []),
    ...waiting.map((server) => `Nothing is known yet of ${server}: \`sallyport servers\` starts it once.`),
    ...warnIfOnlyExcluding(name, selectedMcpTools),
  ]
}

/** Whether a selector is about tools of this server, which may not be known yet. */
function mentionsServer(selector: string, server: string): boolean {
  const word = selector.replace(/^!/, '')
  return [`${server}/`, `mcp__${server}__`, plainName({ server, tool: '' })].some((head) => word.startsWith(head))
}

const MAX_SHOWN = 10

function warnIfOnlyExcluding(name: string, selectors: readonly string[] | undefined): readonly string[] {
  const takes = selectors !== undefined && selectors.length > 0 && selectors.every((one) => one.startsWith('!'))
  return takes ? [`${name}: it only takes away, and so selects nothing; begin with "*" for all the rest.`] : []
}
