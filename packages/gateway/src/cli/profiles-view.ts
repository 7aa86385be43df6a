import {
  type CompiledSelectors,
  compileSelectors,
  mcpName,
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

/** The profiles of a home, and the known tools that they select. No gateway is needed, and none is started. */
export interface ProfilesView {
  readonly editor: ProfilesEditor
  /** Servers as they were last known; `undefined` if they cannot be read. */
  readonly catalog: Catalog | undefined
  /** Servers whose tools are not known yet. */
  readonly unknownServers: readonly string[]
  /** Why the servers could not be read. */
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
  // An invalid profiles.json is reported where it is read.
  const files = new Map(content.files)
  files.delete('profiles.json')
  const { settings } = await loadSettings({ home: home.path, environment, content: { ...content, files } })
  const stored = openStoredCatalogs(state)
  try {
    return await loadStoredCatalog(settings, stored)
  } finally {
    stored.close()
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

export interface ProfileReport extends Omit<EffectiveProfile, 'location'> {
  readonly name: string
  /** Missing if the profile is not in the file. */
  readonly line?: number
  /** Missing if the tools are not known. */
  readonly tools?: {
    readonly selected: readonly string[]
    readonly available: number
    readonly unmatched: readonly string[]
  }
}

/** A profile, and the tools that it selects. */
export function createProfileReport(
  { location, ...profile }: EffectiveProfile,
  { catalog }: ProfilesView,
): ProfileReport {
  const report = {
    name: profileKey(profile.agent, profile.variant),
    ...profile,
    ...(location && { line: location.line }),
  }
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

/** Whether these selections together leave no tool; `false` if not all tools are known. */
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
  view: ProfilesView,
): readonly string[] {
  if (tools === undefined) return view.problem === undefined ? [] : [`The tools are not known: ${view.problem}`]
  const waiting = view.unknownServers.filter((server) =>
    tools.unmatched.some((selector) => mentionsServer(selector, server)),
  )
  const unmatched = tools.unmatched.filter((selector) => !waiting.some((server) => mentionsServer(selector, server)))
  const shown = unmatched.slice(0, MAX_SHOWN).map((selector) => `${name}: ${quoteText(selector, 100)} matches nothing.`)
  const more = unmatched.length - MAX_SHOWN
  return [
    ...shown,
    ...(more > 0 ? [`${name}: ${more} more selectors match nothing.`] : []),
    ...waiting.map((server) => `The tools of ${server} are not known yet: \`sallyport servers\` starts it once.`),
    ...warnIfOnlyExcluding(name, selectedMcpTools),
  ]
}

/** Whether a selector is about tools of this server, which may not be known yet. */
function mentionsServer(selector: string, server: string): boolean {
  const word = selector.replace(/^!/, '')
  const ref = { server, tool: '' }
  return [`${server}/`, `mcp__${server}__`, plainName(ref), mcpName(ref)].some((head) => word.startsWith(head))
}

const MAX_SHOWN = 10

function warnIfOnlyExcluding(name: string, selectors: readonly string[] | undefined): readonly string[] {
  const onlyExcludes = selectors !== undefined && selectors.length > 0 && selectors.every((one) => one.startsWith('!'))
  return onlyExcludes ? [`${name}: it only excludes, and so selects nothing; begin with "*" for all the rest.`] : []
}
