import { SallyportError } from '@sallyport/core'
import { looksSealed, openSealed, plainSize, SealBroken, type SessionKey, sealBytes } from '../keys/keys.ts'
import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'
import { MAX_READ_BYTES, type OpenFile } from './open-file.ts'

/** The folder of a workspace in which results are stored. */
const RESULTS_FOLDER = 'results'
/** Files can be moved, so that their encryption does not depend on their path. */
const FILE_NAME = 'file'

/** With what the files of a workspace are encrypted, and which. */
export interface SealOptions {
  readonly sessionKey: SessionKey
  /** Whether all files that are written now are encrypted, and not only results. Default: never. */
  readonly isPrivate?: (() => Promise<boolean>) | undefined
  /** A file is about to be written as it is. */
  readonly onPlainWrite?: ((segments: readonly string[]) => void) | undefined
  /** A file or directory was moved. */
  readonly onMoved?: ((from: readonly string[], to: readonly string[]) => void) | undefined
}

/**
 * Encrypts files with the key of the session: those below /workspace/results always, others if they are written while
 * the session is private. Everything that goes through the workspace sees their content; a program that opens them by
 * their path on the host sees encrypted bytes.
 */
export interface FileSeal {
  /** Whether it is a stored result: always encrypted, each under its own name. */
  isResult(segments: readonly string[]): boolean
  /** Whether a file of this path has to be encrypted if it is written now. `before`: what is there. */
  mustSeal(segments: readonly string[], before?: OpenFile): Promise<boolean>
  seal(segments: readonly string[], content: Uint8Array): Promise<Uint8Array>
  open(segments: readonly string[], file: OpenFile): Promise<OpenFile>
  noteMove(from: readonly string[], to: readonly string[]): void
  /** The size of the content, by the size on the disk. */
  sizeOf(segments: readonly string[], size: number, open: OpenForSize): Promise<number>
}

type OpenForSize = <Value>(use: (file: OpenFile) => Promise<Value>) => Promise<Value>

/** Without a key nothing is encrypted. */
export const createFileSeal = (options: Partial<SealOptions>): FileSeal =>
  options.sessionKey === undefined ? NO_SEAL : new KeyedSeal({ ...options, sessionKey: options.sessionKey })

const NO_SEAL: FileSeal = {
  isResult: () => false,
  mustSeal: async () => false,
  seal: async (_, content) => content,
  open: async (_, file) => file,
  noteMove: () => {},
  sizeOf: async (_, size) => size,
}

class KeyedSeal implements FileSeal {
  readonly #options: SealOptions

  constructor(options: SealOptions) {
    this.#options = options
  }

  isResult([folder]: readonly string[]): boolean {
    return folder === RESULTS_FOLDER
  }

  async mustSeal(segments: readonly string[], before?: OpenFile): Promise<boolean> {
    const { isPrivate, onPlainWrite } = this.#options
    if (this.isResult(segments) || (await isPrivate?.())) return true
    if (before !== undefined && (await looksSealed(before))) return true
    onPlainWrite?.(segments)
    return false
  }

  async seal(segments: readonly string[], content: Uint8Array): Promise<Uint8Array> {
    const key = await explainKeyProblem(() => this.#options.sessionKey.obtain())
    return sealBytes(content, { key, name: this.#nameOf(segments) })
  }

  async open(segments: readonly string[], file: OpenFile): Promise<OpenFile> {
    if (!this.isResult(segments) && !(await looksSealed(file))) return file
    const explain = explainUnreadable(this.isResult(segments))
    const key = await explainKeyProblem(async () => this.#options.sessionKey.find())
    if (key === undefined) throw explain()
    const opened = await explainBrokenSeal(openSealed(file, { key, name: this.#nameOf(segments) }), explain)
    return {
      size: opened.size,
      modified: file.modified,
      read: (offset, length) => explainBrokenSeal(opened.read(offset, Math.min(length, MAX_READ_BYTES)), explain),
    }
  }

  noteMove(from: readonly string[], to: readonly string[]): void {
    this.#options.onMoved?.(from, to)
  }

  async sizeOf(segments: readonly string[], size: number, open: OpenForSize): Promise<number> {
    if (this.isResult(segments)) return plainSize(size) ?? 0
    const plain = plainSize(size)
    // A session without a key has no encrypted files, so that nothing has to be opened.
    if (plain === undefined || !this.#hasKey()) return size
    return (await open(looksSealed).catch(() => false)) ? plain : size
  }

  #hasKey(): boolean {
    try {
      return this.#options.sessionKey.find() !== undefined
    } catch {
      return false
    }
  }

  #nameOf(segments: readonly string[]): string {
    return this.isResult(segments) ? segments.join('/') : FILE_NAME
  }
}

/** The operator reads the reason elsewhere: it names folders of the host. */
async function explainKeyProblem<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof SallyportError)) throw cause
    throw new ToolFatalError('The key of the stored results and files cannot be used.', {
      nextStep: 'The operator must check the folder for keys and SALLYPORT_MASTER_KEY.',
    })
  }
}

async function explainBrokenSeal<Value>(work: Promise<Value>, explain: () => ToolRetryError): Promise<Value> {
  try {
    return await work
  } catch (cause) {
    throw cause instanceof SealBroken ? explain() : cause
  }
}

const explainUnreadable = (isResult: boolean) => (): ToolRetryError =>
  new ToolRetryError(
    `The ${isResult ? 'stored result' : 'file'} cannot be decrypted: its key is missing, it was encrypted with another one, or the file was changed. ${isResult ? 'Call the tool again.' : 'Write it again.'} If no earlier ${isResult ? 'result' : 'file'} can be read, the operator should check SALLYPORT_MASTER_KEY and the folder for keys.`,
  )
