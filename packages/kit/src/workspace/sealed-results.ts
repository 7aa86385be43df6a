import { SallyportError } from '@sallyport/core'
import { openSealed, plainSize, SealBroken, type SessionKey, sealBytes } from '../keys/keys.ts'
import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'
import { MAX_READ_BYTES, type OpenFile } from './open-file.ts'

/** The folder of a workspace in which results are stored. */
const RESULTS_FOLDER = 'results'

/**
 * Encrypts the files below /workspace/results with the key of the session. Everything that goes through the workspace
 * sees their content; a program that opens them by their path on the host sees encrypted bytes.
 */
export interface ResultSeal {
  /** Whether a file of this path is encrypted. */
  covers(segments: readonly string[]): boolean
  seal(segments: readonly string[], content: Uint8Array): Promise<Uint8Array>
  open(segments: readonly string[], file: OpenFile): Promise<OpenFile>
  /** The size of the content, by the size on the disk. */
  sizeOf(segments: readonly string[], size: number): number
}

/** Without a key nothing is encrypted. */
export const createResultSeal = (sessionKey: SessionKey | undefined): ResultSeal =>
  sessionKey === undefined ? NO_SEAL : new KeyedSeal(sessionKey)

const NO_SEAL: ResultSeal = {
  covers: () => false,
  seal: async (_, content) => content,
  open: async (_, file) => file,
  sizeOf: (_, size) => size,
}

class KeyedSeal implements ResultSeal {
  readonly #sessionKey: SessionKey

  constructor(sessionKey: SessionKey) {
    this.#sessionKey = sessionKey
  }

  covers([folder]: readonly string[]): boolean {
    return folder === RESULTS_FOLDER
  }

  async seal(segments: readonly string[], content: Uint8Array): Promise<Uint8Array> {
    if (!this.covers(segments)) return content
    const key = await explainKeyProblem(() => this.#sessionKey.obtain())
    return sealBytes(content, { key, name: segments.join('/') })
  }

  async open(segments: readonly string[], file: OpenFile): Promise<OpenFile> {
    if (!this.covers(segments)) return file
    const key = await explainKeyProblem(async () => this.#sessionKey.find())
    if (key === undefined) throw unreadable()
    const opened = await explainBrokenSeal(openSealed(file, { key, name: segments.join('/') }))
    return {
      size: opened.size,
      modified: file.modified,
      read: (offset, length) => explainBrokenSeal(opened.read(offset, Math.min(length, MAX_READ_BYTES))),
    }
  }

  sizeOf(segments: readonly string[], size: number): number {
    return this.covers(segments) ? (plainSize(size) ?? 0) : size
  }
}

/** The operator reads the reason elsewhere: it names folders of the host. */
async function explainKeyProblem<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof SallyportError)) throw cause
    throw new ToolFatalError('The key of the stored results cannot be used.', {
      nextStep: 'The operator must check the folder for keys and SALLYPORT_MASTER_KEY.',
    })
  }
}

async function explainBrokenSeal<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (cause) {
    throw cause instanceof SealBroken ? unreadable() : cause
  }
}

const unreadable = (): ToolRetryError =>
  new ToolRetryError(
    'The stored result cannot be decrypted: its key is missing, it was encrypted with another one, or the file was changed. Call the tool again. If no earlier result can be read, the operator should check SALLYPORT_MASTER_KEY and the folder for keys.',
  )
