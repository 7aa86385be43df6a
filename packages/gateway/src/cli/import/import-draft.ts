import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import {
  type AddedServer,
  type ImportPlan,
  type ImportRequest,
  mergeServers,
  toNewServer,
} from '../../agents/agents.ts'
import {
  addServers,
  DEFAULT_SETTINGS,
  type Environment,
  type Home,
  type HomeContent,
  loadSettings,
  locateHome,
  locateState,
  type ParsedConfig,
  parseTree,
  readHome,
  readWrittenServers,
  renewTrust,
  type Settings,
  withFile,
} from '../../config/config.ts'
import { makeFolder, replaceFile } from '../../disk/disk.ts'
import type { CliContext } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import type { FoundServers } from './found-servers.ts'

/** The planned change of config.yaml. Nothing is written yet. */
export interface ImportDraft {
  readonly plan: ImportPlan
  /** The servers that are already in the file. */
  readonly existing: readonly string[]
  readonly home: Home
  readonly state: string
  readonly file: 'config.yaml' | 'config.json'
  readonly path: string
  /** `undefined` if the file does not exist yet. */
  readonly before: Buffer | undefined
  readonly after: string
}

export interface DraftRequest extends Pick<ImportRequest, 'secrets' | 'projects'> {
  readonly found: FoundServers
}

export async function draftImport(
  context: CliContext,
  flags: GlobalFlags,
  request: DraftRequest,
): Promise<ImportDraft> {
  const { environment, cwd } = context
  const home = locateHome({ flag: flags.home, environment, cwd })
  const state = locateState({ flag: flags.state, environment, cwd })
  const content = await readHome(home.path)
  const file = !content.files.has('config.yaml') && content.files.has('config.json') ? 'config.json' : 'config.yaml'
  const path = join(home.path, file)
  const before = content.files.get(file)
  const text = before?.toString('utf8') ?? ''
  const config = { text, tree: parseTree(text) }
  const existing = readWrittenServers(path, config.tree)
  if (!existing.ok) throw new SallyportError('CONFIG_INVALID', existing.why, { hint: 'Correct it, then import again.' })
  const current = await tryLoadSettings({ content, environment, tree: config.tree })
  const merged = mergeServers({
    found: request.found.servers,
    existing: existing.servers,
    port: (current ?? DEFAULT_SETTINGS).gateway.port,
    lookup: (name) => environment[name],
    secrets: request.secrets,
    projects: request.projects,
  })
  const target: ImportTarget = { content, file, path, environment, config, isUsable: current !== undefined }
  const { plan, after } = (await addAll(merged, target)) ?? (await addUsable(merged, target))
  return { plan, existing: [...existing.servers.keys()], home, state, file, path, before, after }
}

/** Writes the file, unless it was changed meanwhile. */
export async function writeImport({ home, state, file, path, before, after }: ImportDraft): Promise<void> {
  makeFolder(home.path)
  const isWanted = async (): Promise<boolean> => {
    const now = (await readHome(home.path)).files.get(file)
    return now === undefined ? before === undefined : before?.equals(now) === true
  }
  if (!(await replaceFile(path, after, { isWanted })))
    throw new SallyportError('USAGE', `${path} was changed meanwhile; nothing was written.`, {
      hint: 'Import again.',
    })
  await renewTrust({ home, state }, file, { before, after: Buffer.from(after) })
}

/** `undefined` if the config has errors. */
async function tryLoadSettings({ content, ...options }: ConfigInForce): Promise<Settings | undefined> {
  try {
    return (await loadSettings({ home: content.path, content, ...options })).settings
  } catch {
    return undefined
  }
}

interface ConfigInForce {
  readonly content: HomeContent
  readonly environment: Environment
  readonly tree: ParsedConfig['tree']
}

/** The config.yaml that servers are added to. */
interface ImportTarget {
  readonly content: HomeContent
  readonly file: 'config.yaml' | 'config.json'
  readonly path: string
  readonly environment: Environment
  readonly config: ParsedConfig
  /** Whether the gateway accepts the current file. */
  readonly isUsable: boolean
}

interface Addition {
  readonly plan: ImportPlan
  readonly after: string
}

/** The usual case: the gateway accepts all servers, so even thousands are read only once. */
async function addAll(plan: ImportPlan, target: ImportTarget): Promise<Addition | undefined> {
  const after = addServers(target.config, plan.added.map(toNewServer))
  if (!after.ok || !target.isUsable) return undefined
  try {
    await assertLoadable(after, plan, target)
    return { plan, after: after.text }
  } catch (error) {
    if (error instanceof SallyportError) return undefined
    throw error
  }
}

/** Leaves out servers that the gateway would reject. */
async function addUsable(merged: ImportPlan, target: ImportTarget): Promise<Addition> {
  const { content, environment, path, config } = target
  const plan = await dropRefused(merged, { home: content.path, environment })
  const after = addServers(config, plan.added.map(toNewServer))
  if (!after.ok)
    throw new SallyportError('CONFIG_INVALID', `Nothing can be added to ${path}: ${after.why}.`, {
      hint: 'Write its mcp_servers with one server on each line, or see what to add with --dry-run on another --home.',
    })
  // The additions must not make a valid config invalid.
  if (target.isUsable) await assertLoadable(after, plan, target)
  return { plan, after: after.text }
}

async function assertLoadable(after: ParsedConfig, { added }: ImportPlan, target: ImportTarget): Promise<void> {
  const unset = added.flatMap((server) => server.unset)
  const environment = withPlaceholders(target.environment, unset)
  const content = withFile(target.content, target.file, Buffer.from(after.text))
  await loadSettings({ home: content.path, environment, content, tree: after.tree })
}

interface LoadContext {
  readonly home: string
  readonly environment: Environment
}

/**
 * If the gateway rejects the servers together, each one is checked alone, so that only the invalid ones are dropped.
 */
async function dropRefused(plan: ImportPlan, reading: LoadContext): Promise<ImportPlan> {
  if ((await findRefusal(plan.added, reading)) === undefined) return plan
  const added: AddedServer[] = []
  const skipped = [...plan.skipped]
  for (const server of plan.added) {
    const why = await findRefusal([server], reading)
    if (why === undefined) added.push(server)
    else skipped.push(...server.sources.map((source) => ({ ...source, why })))
  }
  return { ...plan, added, skipped }
}

const EMPTY_CONFIG: ParsedConfig = { text: '', tree: parseTree('') }

async function findRefusal(servers: readonly AddedServer[], reading: LoadContext): Promise<string | undefined> {
  const alone = addServers(
    EMPTY_CONFIG,
    servers.map(({ id, entry }) => ({ id, entry, comment: [] })),
  )
  if (!alone.ok) return 'it cannot be written as YAML.'
  const emptyHome = { path: reading.home, files: new Map(), digest: '', configDigest: '' }
  const content = withFile(emptyHome, 'config.yaml', Buffer.from(alone.text))
  const unset = servers.flatMap((server) => server.unset)
  try {
    const environment = withPlaceholders(reading.environment, unset)
    await loadSettings({ home: reading.home, environment, content, tree: alone.tree })
    return undefined
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    const [, issue = error.code] = error.message.split('\n')
    return `the gateway would reject it: ${issue.trim().replace(/^\S+:\d+:\d+ /, '')}`
  }
}

const withPlaceholders = (environment: Environment, unset: readonly string[]): Environment => ({
  ...environment,
  ...Object.fromEntries(unset.map((name) => [name, 'stand-in'])),
})
