import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf, SallyportError } from '@sallyport/core'
import { addFile, codeOf, makeDurableFolder, syncFolder } from '../add-file.ts'
import { hasKeyFolder, type KeyLocation, keysUnusable, openKeyFolder } from './key-folder.ts'
import { findMasterKey, type MasterKey, openMasterKey, readMasterKey } from './master-key.ts'
import { readPrivateFile } from './private-file.ts'

/** The settings of the keys of sessions. */
export interface SessionKeysOptions extends KeyLocation {
  /** The folder with the data that is encrypted. Its keys are not those of another folder, whatever the sessions' names. */
  readonly dataFolder: string
  /** May contain the master key. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Called once for each reason why keys cannot be used. Default: prints to standard error. */
  readonly onProblem?: ((problem: string) => void) | undefined
}

/** The key with which the stored results of one session are encrypted. */
export interface SessionKey {
  /** `undefined` if there is none (any more), or if it was encrypted with another master key. */
  find(): Buffer | undefined
  /** Creates it if it is missing. */
  obtain(): Promise<Buffer>
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const MAX_CACHED = 1_000
/** The name of the file in the data folder that says which keys belong to it. */
const ID_FILE = 'keys-id'
const ID = /^[0-9a-f]{32}$/

/**
 * One random key for each session, encrypted with the master key. They are outside of the data folder, so that a copy of
 * the data cannot be read any more once a key was destroyed. Nothing is read or created before the first use.
 */
export class SessionKeys {
  readonly #options: SessionKeysOptions
  readonly #given: MasterKey | undefined
  readonly #cache = new Map<string, Buffer>()
  readonly #reported = new Set<string>()
  #opened: OpenedKeys | undefined

  /** Throws if the environment contains an invalid master key. */
  constructor(options: SessionKeysOptions) {
    this.#options = options
    this.#given = readMasterKey(options.environment)
  }

  /** The key of a session. `owner`: the name of its folder. */
  of(owner: string): SessionKey {
    return { find: () => this.#report(() => this.#find(owner)), obtain: () => this.#obtain(owner) }
  }

  /** The sessions with a key, and when the newest key of each was last used for writing, about, in milliseconds since 1970. */
  list(): ReadonlyMap<string, number> {
    const used = new Map<string, number>()
    const folder = this.#findFolder()
    if (folder === undefined) return used
    for (const name of listKeys(folder))
      used.set(ownerOf(name), Math.max(lastUse(join(folder, name)), used.get(ownerOf(name)) ?? 0))
    return used
  }

  /**
   * Destroys the key if it was not used since then, in milliseconds since 1970. `obtain` says that it is used before
   * anything is encrypted, so another process that is about to store its first result for long keeps it.
   */
  async destroyUnused(owner: string, since: number): Promise<boolean> {
    const folder = this.#findFolder()
    const names = folder === undefined ? [] : listKeys(folder).filter((name) => ownerOf(name) === owner)
    if (names.some((name) => lastUse(join(folder ?? '', name)) > since)) return false
    // This removes it at once, so that no other work of this process comes between.
    return this.destroy(owner)
  }

  /** When it resolves, the key is gone from the disk, and nothing can read what was encrypted with it. */
  async destroy(owner: string): Promise<boolean> {
    this.#cache.delete(owner)
    const folder = this.#findFolder()
    if (folder === undefined) return false
    const names = listKeys(folder).filter((name) => ownerOf(name) === owner)
    for (const name of names) rmSync(join(folder, name), { force: true })
    // Also if there was none: the one who removed it may have been killed before this.
    await syncFolder(folder)
    this.#cache.delete(owner)
    return names.length > 0
  }

  #find(owner: string): Buffer | undefined {
    const { folder, notInside, dataFolder } = this.#options
    if (this.#opened === undefined) {
      if (!hasKeyFolder({ folder, notInside })) return undefined
      const id = readId(dataFolder)
      const master = this.#given ?? findMasterKey(folder)
      if (id === undefined || master === undefined) return undefined
      this.#opened = { folder: folderOf(folder, id), master }
    }
    return this.#read(owner, this.#opened)
  }

  async #obtain(owner: string): Promise<Buffer> {
    try {
      this.#opened ??= await this.#open()
      const key = this.#read(owner, this.#opened)
      if (key !== undefined && markUsed(pathOf(owner, this.#opened))) return key
      return await this.#create(owner, this.#opened)
    } catch (error) {
      return this.#report(() => {
        throw error
      })
    }
  }

  async #open(): Promise<OpenedKeys> {
    const { folder, notInside, dataFolder } = this.#options
    openKeyFolder({ folder, notInside })
    const master = this.#given ?? (await openMasterKey(folder))
    const own = folderOf(folder, await openId(dataFolder))
    await makeDurableFolder(own, folder)
    return { folder: own, master }
  }

  /** The file is checked also if the key is in memory: another program may have destroyed it. */
  #read(owner: string, opened: OpenedKeys): Buffer | undefined {
    const path = pathOf(owner, opened)
    const cached = this.#cache.get(owner)
    if (cached !== undefined && statSync(path, { throwIfNoEntry: false }) !== undefined) return cached
    this.#cache.delete(owner)
    const file = readPrivateFile(path, 'leave')
    if (file.state === 'absent') return undefined
    if (!('text' in file) || file.state === 'exposed')
      throw keysUnusable(
        `The file ${path} is not used: it ${'problem' in file ? file.problem : 'is open to others'}.`,
        {
          hint: `Check who wrote it, and restrict it: chmod 600 ${path}`,
        },
      )
    const key = unwrap(file.text.trim(), { owner, opened })
    if (key === undefined) return undefined
    const [oldest] = this.#cache.keys()
    if (oldest !== undefined && this.#cache.size >= MAX_CACHED) this.#cache.delete(oldest)
    this.#cache.set(owner, key)
    return key
  }

  async #create(owner: string, opened: OpenedKeys): Promise<Buffer> {
    const path = pathOf(owner, opened)
    // Whatever is there was read before, and is not a key: what was encrypted with it is lost already.
    rmSync(path, { force: true })
    await makeDurableFolder(opened.folder, dirname(opened.folder))
    await addFile(path, `${wrap(randomBytes(KEY_BYTES), { owner, opened })}\n`, opened.folder)
    const key = this.#read(owner, opened)
    if (key !== undefined) return key
    throw keysUnusable('The key of a session was removed while it was created.', { hint: 'Try again.' })
  }

  /** The folder with the keys of this data; `undefined` if it has none. */
  #findFolder(): string | undefined {
    const { folder, notInside, dataFolder } = this.#options
    return this.#report(() => {
      const id = hasKeyFolder({ folder, notInside }) ? readId(dataFolder) : undefined
      return id === undefined ? undefined : folderOf(folder, id)
    })
  }

  /** The errors name paths, which agents must not see. So the operator is told here. */
  #report<Value>(work: () => Value): Value {
    try {
      return work()
    } catch (cause) {
      const error = toKeysUnusable(cause)
      const problem = `${error.message} ${error.hint ?? ''}`.trim()
      if (!this.#reported.has(problem) && this.#reported.size < MAX_CACHED) {
        this.#reported.add(problem)
        const { onProblem = printProblem } = this.#options
        onProblem(problem)
      }
      throw error
    }
  }
}

interface OpenedKeys {
  readonly folder: string
  readonly master: MasterKey
}

function printProblem(problem: string): void {
  console.error(problem)
}

const folderOf = (folder: string, id: string): string => join(folder, 'sessions', id)

/** Another master key does not overwrite what it cannot read: it may be the wrong one. */
const pathOf = (owner: string, { folder, master }: OpenedKeys): string => join(folder, `${owner}.${master.id}`)

/** A key is marked as used no more often than this. */
const MARK_INTERVAL_MS = 60_000

const lastUse = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Returns false if another process has destroyed it meanwhile. */
function markUsed(path: string): boolean {
  const now = Date.now()
  if (Math.abs(now - lastUse(path)) < MARK_INTERVAL_MS) return true
  try {
    utimesSync(path, now / 1_000, now / 1_000)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

const KEY_FILE = /^(.+)\.[0-9a-f]{16}$/

const ownerOf = (name: string): string => KEY_FILE.exec(name)?.[1] ?? ''

function listKeys(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => KEY_FILE.test(name))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

function readId(dataFolder: string): string | undefined {
  const path = join(dataFolder, ID_FILE)
  try {
    const id = readFileSync(path, 'utf8').trim()
    if (ID.test(id)) return id
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  throw keysUnusable(`The file ${path} is damaged: it says which keys belong to this folder.`, {
    hint: 'Restore it from a copy, or remove it: then earlier results cannot be read any more.',
  })
}

async function openId(dataFolder: string): Promise<string> {
  const found = readId(dataFolder)
  if (found !== undefined) return found
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  await addFile(join(dataFolder, ID_FILE), `${randomBytes(16).toString('hex')}\n`, dataFolder)
  return readId(dataFolder) ?? openId(dataFolder)
}

interface WrappedFor {
  readonly owner: string
  readonly opened: OpenedKeys
}

/** The owner is bound to it, so that the key of one session cannot be put in the place of another. */
const contextOf = ({ owner, opened }: WrappedFor): Buffer => Buffer.from(`${opened.folder.slice(-32)}/${owner}`)

function wrap(key: Buffer, whose: WrappedFor): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', whose.opened.master.key, nonce)
  cipher.setAAD(contextOf(whose))
  const encrypted = Buffer.concat([cipher.update(key), cipher.final()])
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url')
}

/** `undefined` if it is damaged. */
function unwrap(text: string, whose: WrappedFor): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== NONCE_BYTES + KEY_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', whose.opened.master.key, bytes.subarray(0, NONCE_BYTES))
  decipher.setAAD(contextOf(whose))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}

function toKeysUnusable(cause: unknown): SallyportError {
  if (cause instanceof SallyportError) return cause
  return keysUnusable(`The keys of stored results cannot be used: ${messageOf(cause)}.`, {
    hint: 'Make the folder for keys writable for the user who runs this program, or name another with SALLYPORT_KEYS.',
    cause,
  })
}
