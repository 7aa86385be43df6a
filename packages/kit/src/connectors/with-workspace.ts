import type { Sensitivity } from '@sallyport/core'
import { privateData } from '../private-data/private-data.ts'
import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'
import { currentWorkspace, type OpenFile, type Workspace } from '../workspace/workspace.ts'
import { ConnectorError } from './connector-error.ts'

/** A dataset, and the sensitivity of its content. */
export interface SensitiveSource {
  readonly dataset: string
  readonly sensitivity: Sensitivity
}

/** The workspace of a connector, and the label that its use adds to the session. */
export interface ConnectorOptions {
  /** Default: that of the calling user and session. */
  readonly workspace?: Workspace
  /** The session's label includes this from now on, even if the work fails: an error may reveal data. */
  readonly sensitive?: SensitiveSource
  /** Ends the work: pass the `context.signal` of the handler. */
  readonly signal?: AbortSignal
}

/** The only way in which File, Csv and Json reach their files. */
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

/** The same workspace, but it reads nothing more once the signal is aborted. */
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

/** An error that other arguments would avoid. */
export const refusal = (message: string, cause?: unknown): ConnectorError =>
  new ConnectorError(message, { retryable: true, cause })

/** Checks for a whole number from 1, and limits it to the maximum. */
export function clampCount(name: string, value: number, max: number): number {
  if (!Number.isSafeInteger(value) || value < 1) throw refusal(`${name} is ${value}; expected a whole number from 1.`)
  return Math.min(value, max)
}

export function checkOffset(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw refusal(`offset is ${value}; expected a whole number from 0.`)
  return value
}
