import type { Sensitivity } from '@sallyport/core'
import { privateData } from '../private-data/private-data.ts'
import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'
import { currentWorkspace, type OpenFile, type Workspace } from '../workspace/workspace.ts'
import { ConnectorError } from './connector-error.ts'

/** A dataset, and how sensitive what is read from it is. */
export interface SensitiveSource {
  readonly dataset: string
  readonly sensitivity: Sensitivity
}

/** Where a connector works, and what that does to the session. */
export interface ConnectorOptions {
  /** Absent: that of the calling user and session. */
  readonly workspace?: Workspace
  /** The session holds this from now on, even if the work fails: an error may tell of what is there. */
  readonly sensitive?: SensitiveSource
  /** Ends the work: pass the `context.signal` of the handler. */
  readonly signal?: AbortSignal
}

/** The one way of File, Csv and Json to their files. */
export async function withWorkspace<Value>(
  { workspace, sensitive, signal }: ConnectorOptions,
  work: (workspace: Workspace) => Promise<Value>,
): Promise<Value> {
  if (sensitive !== undefined) await privateData().addPrivateDataset(sensitive.dataset, sensitive.sensitivity)
  signal?.throwIfAborted()
  try {
    const used = workspace ?? currentWorkspace()
    return await work(signal === undefined ? used : makeCancellable(used, signal))
  } catch (error) {
    throw toConnectorError(error)
  }
}

/** The same workspace, which reads nothing more once the signal is aborted. */
function makeCancellable(workspace: Workspace, signal: AbortSignal): Workspace {
  const useFile: Workspace['useFile'] = (path, use) =>
    workspace.useFile(path, (file) => {
      const read: OpenFile['read'] = async (offset, length) => {
        signal.throwIfAborted()
        return file.read(offset, length)
      }
      return use({ ...file, read })
    })
  return { ...workspace, useFile, findFiles: (path, options) => workspace.findFiles(path, { ...options, signal }) }
}

function toConnectorError(error: unknown): unknown {
  if (error instanceof ToolRetryError) return new ConnectorError(error.message, { retryable: true, cause: error.cause })
  if (error instanceof ToolFatalError) {
    const { message, nextStep, cause } = error
    return new ConnectorError(message, { retryable: false, cause, ...(nextStep === undefined ? {} : { nextStep }) })
  }
  return error
}

/** Other arguments would help. */
export const refusal = (message: string, cause?: unknown): ConnectorError =>
  new ConnectorError(message, { retryable: true, cause })

/** A whole number from 1, not above the most that is ever given. */
export function clampCount(name: string, value: number, most: number): number {
  if (!Number.isSafeInteger(value) || value < 1) throw refusal(`${name} is ${value}; expected a whole number from 1.`)
  return Math.min(value, most)
}

export function checkOffset(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw refusal(`offset is ${value}; expected a whole number from 0.`)
  return value
}
