import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, rmdirSync, statSync, utimesSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { parseOwnerKey } from '@sallyport/core'
import { SizeWatch } from './size-watch.ts'
import {
  listNames,
  listStorageFolders,
  OWNER_FILE,
  openStorage,
  type StorageOptions,
  sweepStorage,
  type WorkspaceStorage,
} from './workspace-storage.ts'

export interface SessionWorkspacesOptions extends StorageOptions {
  readonly settings: () => WorkspaceSettings
  /** The folder of a session below that of all: one name, for any user and session. */
  readonly folderOf: (root: string, user: string, session: string) => string
  /** Whether this session has ended: then it stores nothing any more. */
  readonly hasEnded: (owner: { readonly user: string; readonly session: string }) => boolean
}

export interface WorkspaceSettings {
  readonly storage: WorkspaceStorage
  readonly maxBytes: number
  /** How long the files of a session that nobody uses are kept, in milliseconds. */
  readonly age: number
}

/** The workspace of a session, as one process uses it. */
export interface UsedWorkspace {
  readonly path: string
  release(): void
}

interface SharedWorkspace {
  readonly path: string
  /** What each process that uses it is told if its files take too much room. */
  readonly users: Set<(reason: string) => void>
  readonly watch: SizeWatch
  /** Who waits until no process uses it. */
  readonly waiting: (() => void)[]
}

const PRIVATE_MODE = 0o700
const CLEANUP_INTERVAL_MS = 60 * 60_000

/**
 * One folder for each session, which all of its processes in sandboxes see at /workspace. It outlives them and the
 * gateway, and ends with the session.
 */
export class SessionWorkspaces {
  readonly #options: SessionWorkspacesOptions
  /** By path. */
  readonly #shared = new Map<string, SharedWorkspace>()
  #timer: NodeJS.Timeout | undefined
  #cleaning: Promise<void> = Promise.resolve()

  constructor(options: SessionWorkspacesOptions) {
    this.#options = options
  }

  /** Starts to remove what belongs to nobody any more. */
  start(): void {
    const cleanUp = (): void => {
      this.#cleaning = this.#cleaning.then(() => this.#cleanUp())
    }
    this.#timer = setInterval(cleanUp, CLEANUP_INTERVAL_MS).unref()
    cleanUp()
  }

  /** Creates the folder of a session unless it exists. `onFull`: its files take too much room. */
  use(session: string, onFull: (reason: string) => void): UsedWorkspace | { readonly problem: string } {
    const owner = parseOwnerKey(session)
    if (this.isEnded(session)) return { problem: 'the session has ended' }
    const storage = openStorage(this.#options.settings().storage, this.#options)
    if ('problem' in storage) return storage
    const path = this.#options.folderOf(storage.folder, owner.user, owner.session)
    mkdirSync(path, { recursive: true, mode: PRIVATE_MODE })
    touch(path)
    const shared = this.#shared.get(path) ?? this.#share(path)
    shared.users.add(onFull)
    return { path, release: () => this.#release(shared, onFull) }
  }

  isEnded(session: string): boolean {
    return this.#options.hasEnded(parseOwnerKey(session))
  }

  /** Removes the files of a session when none of its processes is left: a program could exchange what is removed. */
  async remove(session: string): Promise<void> {
    const { user, session: name } = parseOwnerKey(session)
    for (const folder of listStorageFolders(this.#options)) {
      const path = this.#options.folderOf(folder, user, name)
      const shared = this.#shared.get(path)
      if (shared !== undefined) await new Promise<void>((resolve) => shared.waiting.push(resolve))
      await removeTree(path)
    }
  }

  /** The next gateway of this state finds the rest again. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#cleaning
    for (const folder of listStorageFolders(this.#options)) {
      for (const path of listSessions(folder)) removeIfEmpty(path)
      if (listSessions(folder).length === 0) await rm(folder, { recursive: true, force: true })
    }
  }

  #share(path: string): SharedWorkspace {
    const users: SharedWorkspace['users'] = new Set()
    const { maxBytes } = this.#options.settings()
    const onFull = (bytes: number): void => {
      for (const user of users) user(describeFull(bytes, maxBytes))
    }
    const shared = { path, users, waiting: [], watch: new SizeWatch({ path, maxBytes, onFull }) }
    this.#shared.set(path, shared)
    return shared
  }

  #release(shared: SharedWorkspace, user: (reason: string) => void): void {
    if (!shared.users.delete(user) || shared.users.size > 0) return
    touch(shared.path)
    shared.watch.close()
    this.#shared.delete(shared.path)
    for (const resume of shared.waiting) resume()
  }

  /** What cannot be removed now is tried again later. */
  async #cleanUp(): Promise<void> {
    await sweepStorage(this.#options)
    const { age } = this.#options.settings()
    for (const path of listStorageFolders(this.#options).flatMap(listSessions)) {
      const idleFor = Date.now() - lastUse(path)
      // A program can also set a time that is still to come.
      if (basename(path).startsWith(REMOVED)) await removeTree(path).catch(() => undefined)
      else if (this.#shared.has(path) || idleFor < 0) touch(path)
      else if (idleFor > age) await removeAway(path).catch(() => undefined)
    }
  }
}

function describeFull(bytes: number, maxBytes: number): string {
  const limit = `at most ${formatBytes(maxBytes)} are allowed (sandbox.limits.workspace)`
  const what = Number.isFinite(bytes)
    ? `the files of its session in /workspace take ${formatBytes(bytes)}`
    : 'the files of its session in /workspace cannot be counted, since a folder there may not be read'
  return `was stopped: ${what}, and ${limit}`
}

const formatBytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(0)} MiB`

const listSessions = (folder: string): readonly string[] =>
  listNames(folder)
    .filter((name) => name !== OWNER_FILE)
    .map((name) => join(folder, name))

/** What a program does in subfolders does not change this time. */
function touch(path: string): void {
  const now = new Date()
  try {
    utimesSync(path, now, now)
  } catch {
    // It is being removed.
  }
}

const lastUse = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const REMOVED = 'removed-'

/** A session that begins again gets a new folder: no program may exchange what is being removed. */
async function removeAway(path: string): Promise<void> {
  const away = join(dirname(path), `${REMOVED}${randomBytes(8).toString('hex')}`)
  renameSync(path, away)
  await removeTree(away)
}

const run = promisify(execFile)

/** No program may run there any more. */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    // A program made folders read-only, or nested them so deep that their paths are too long: these tools use none.
    await run('/bin/chmod', ['-R', 'u+rwX', '--', path]).catch(() => undefined)
    await run('/bin/rm', ['-rf', '--', path])
  }
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // It has files.
  }
}
