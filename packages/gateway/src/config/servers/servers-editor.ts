import { dirname, join } from 'node:path'
import { type DiffLine, type JsonObject, maskSecrets, SallyportError } from '@sallyport/core'
import {
  causeCode,
  describeDiskError,
  isSameContent,
  makeFolder,
  replaceFile,
  resolveLockPath,
  withLockFile,
} from '../../disk/disk.ts'
import { diffTexts, hashChange, notAsShownError } from '../file-change.ts'
import type { Home } from '../home/home.ts'
import { type HomeContent, readHome, withFile } from '../home/home-content.ts'
import { renewTrust } from '../home/trust.ts'
import { loadSettings } from '../load-settings.ts'
import { type ConfigIssue, describeIssue, joinKey } from '../reading/config-issue.ts'
import type { Environment } from '../reading/environment.ts'
import { parseTree } from '../reading/located-tree.ts'
import type { ServerConfig } from '../settings.ts'
import { collectSecrets } from './credentials.ts'
import { editServers, type ServerChange } from './edit-servers.ts'
import { maskEntry } from './masked-entry.ts'
import { findWrittenEntry, resolveChange, unknownEntryError, versionOf } from './written-entry.ts'
import { readWrittenServers } from './written-servers.ts'

export interface ServersEditorOptions {
  readonly home: Home
  readonly state: string
  readonly environment: Environment
}

/** What changes would do to the config file. */
export interface ConfigPreview {
  readonly path: string
  /** Changes when the file changes, or what would be written. */
  readonly hash: string
  /** Changed lines only, without secrets: the other lines may contain some. Empty if nothing would change. */
  readonly diff: readonly DiffLine[]
  /**
   * What the gateway would warn about because of the changes, or about the changed servers, as
   * `file:line:column key: problem`.
   */
  readonly warnings: readonly string[]
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** A server as the config file has it. */
export interface WrittenEntry {
  readonly path: string
  readonly line: number
  /** With the spelling of the file, and with secrets masked. References to variables are as they are written. */
  readonly entry: JsonObject
  /** Changes when the entry changes. */
  readonly version: string
}

interface Draft extends ConfigPreview {
  readonly file: 'config.yaml' | 'config.json'
  readonly before: Buffer | undefined
  readonly after: Buffer
}

const BOM = '\ufeff'

/** Changes the servers in config.yaml and leaves everything else in it as it is, whether or not a gateway is running. */
export class ServersEditor {
  readonly #options: ServersEditorOptions

  constructor(options: ServersEditorOptions) {
    this.#options = options
  }

  /** The entries as they are in the file: references to variables are not expanded. */
  async readWritten(): Promise<ReadonlyMap<string, JsonObject>> {
    const { path, text } = await this.#readFile()
    const written = readWrittenServers(path, parseTree(text))
    if (written.ok) return written.servers
    throw new SallyportError('INVALID_PARAMS', written.why, { hint: 'Correct the file first.' })
  }

  /** One entry, to be shown in a form. Throws SERVER_UNKNOWN if it is not in the file. */
  async readEntry(id: string): Promise<WrittenEntry> {
    const { path, text, content } = await this.#readFile()
    const tree = parseTree(text)
    const found = findWrittenEntry(tree.root, id)
    if (found === undefined) throw unknownEntryError(tree.root, { path, id })
    const { servers } = await this.#load(content)
    const { line } = tree.positionOf(found.offset)
    return { path, line, entry: maskEntry(found.entry, createMask(servers)), version: versionOf(found.entry) }
  }

  /** Throws INVALID_PARAMS, with lines, if the gateway would not accept the result. */
  async preview(changes: readonly ServerChange[]): Promise<ConfigPreview> {
    return toPreview(await this.#draft(changes))
  }

  /** Writes what was shown. If the file or the result differs from that, it throws CONFIG_CHANGED. */
  async apply(changes: readonly ServerChange[], hash: string): Promise<ConfigPreview> {
    const { home, state } = this.#options
    const path = join(home.path, 'config.yaml')
    try {
      makeFolder(dirname(path))
      return await withLockFile(resolveLockPath(path), async (isHeld) => {
        const draft = await this.#draft(changes)
        if (draft.hash !== hash) throw notAsShownError(draft.path)
        if (draft.diff.length === 0) return toPreview(draft)
        const { file, before, after } = draft
        const isWanted = async (): Promise<boolean> =>
          (await isHeld()) && isSameContent((await readHome(home.path)).files.get(file), before)
        if (!(await replaceFile(draft.path, after, { isWanted }))) throw notAsShownError(draft.path)
        await renewTrust({ home, state }, file, { before, after })
        return toPreview(draft)
      })
    } catch (error) {
      throw toUnsafeError(path, error)
    }
  }

  async #readFile() {
    const { path: folder } = this.#options.home
    const content = await readHome(folder)
    const file = !content.files.has('config.yaml') && content.files.has('config.json') ? 'config.json' : 'config.yaml'
    const before = content.files.get(file)
    const whole = before?.toString('utf8') ?? ''
    const mark = whole.startsWith(BOM) ? BOM : ''
    return { content, file, path: join(folder, file), before, mark, text: whole.slice(mark.length) } as const
  }

  async #draft(changes: readonly ServerChange[]): Promise<Draft> {
    const { content, file, path, before, mark, text } = await this.#readFile()
    const tree = parseTree(text)
    const earlier = await this.#load(content).catch(() => undefined)
    const mask = createMask(earlier?.servers ?? [])
    const edited = editServers(
      { text, tree },
      changes.map((change) => resolveChange(change, { path, root: tree.root, mask })),
    )
    if (!edited.ok)
      throw new SallyportError('INVALID_PARAMS', `${path} is left as it is: ${edited.why}.`, {
        hint: edited.hint ?? 'Change it in an editor.',
      })
    const after = Buffer.from(mark + edited.text)
    const now = await this.#load(withFile(content, file, after)).catch(refuseInvalid)
    const [ids, idsBefore] = [now, earlier].map((one) => new Set(one?.servers.map(({ id }) => id)))
    return {
      ...{ path, file, before, after },
      hash: hashChange(before, after),
      diff: showDiff({ text, edited: edited.text, servers: [...(earlier?.servers ?? []), ...now.servers] }),
      warnings: findOwnWarnings(changes, now.warnings, earlier?.warnings ?? []),
      added: [...(ids ?? [])].filter((id) => !idsBefore?.has(id)),
      removed: [...(idsBefore ?? [])].filter((id) => !ids?.has(id)),
    }
  }

  async #load(
    content: HomeContent,
  ): Promise<{ readonly servers: readonly ServerConfig[]; readonly warnings: readonly ConfigIssue[] }> {
    const { environment } = this.#options
    const { settings, warnings } = await loadSettings({ home: content.path, environment, content })
    return { servers: settings.servers, warnings }
  }
}

/** Without those that the file had before, unless they are about a server that is changed. */
function findOwnWarnings(
  changes: readonly ServerChange[],
  warnings: readonly ConfigIssue[],
  earlier: readonly ConfigIssue[],
): readonly string[] {
  // Lines have moved.
  const identify = ({ file, key, problem }: ConfigIssue): string => JSON.stringify([file, key, problem])
  const known = new Set(earlier.map(identify))
  const isNew = (issue: ConfigIssue): boolean => !known.has(identify(issue))
  return warnings.filter((issue) => isNew(issue) || changes.some(({ id }) => isAbout(issue, id))).map(describeIssue)
}

/** The section may have another spelling. */
function isAbout({ key }: ConfigIssue, id: string): boolean {
  const rest = key.replace(/^[\w$-]+\.?/, '')
  const own = joinKey('', id)
  return rest === own || rest.startsWith(`${own}.`) || rest.startsWith(`${own}[`)
}

const createMask = (servers: readonly ServerConfig[]): ((text: string) => string) => {
  const secrets = servers.flatMap((server) => [...collectSecrets(server)])
  return (text) => maskSecrets(text, secrets)
}

interface ShownChange {
  readonly text: string
  readonly edited: string
  readonly servers: readonly ServerConfig[]
}

function showDiff({ text, edited, servers }: ShownChange): readonly DiffLine[] {
  const mask = createMask(servers)
  return diffTexts(text, edited)
    .filter(({ mark }) => mark === '+' || mark === '-')
    .map((line) => (NAMES_VARIABLE.test(line.text) ? line : { ...line, text: mask(line.text) }))
}

/** A member whose whole value is the name of a variable: there is nothing to hide, and a mask would look like a key. */
const NAMES_VARIABLE = /^[\s-]*["']?[\w.-]+["']?\s*:\s*["']?\$\{[A-Za-z_]\w*\}["']?,?\s*$/

const toPreview = ({ path, hash, diff, warnings, added, removed }: Draft): ConfigPreview => ({
  ...{ path, hash, diff, warnings, added, removed },
})

function refuseInvalid(cause: unknown): never {
  if (!(cause instanceof SallyportError)) throw cause
  throw new SallyportError(
    'INVALID_PARAMS',
    `Nothing is written, because the gateway would not accept it: ${cause.message}`,
    { cause },
  )
}

function toUnsafeError(path: string, error: unknown): unknown {
  const cause = error instanceof SallyportError && error.code === 'STATE_UNUSABLE' ? error.cause : error
  if (cause instanceof SallyportError || causeCode(cause) === '') return error
  return new SallyportError('STATE_UNUSABLE', `${path} cannot be written: ${describeDiskError(cause)}.`, { cause })
}
