import { READ_RESULT_TOOL } from '@sallyport/core'
import type { McpServer } from './mcp-server.ts'
import { READ } from './permission.ts'
import {
  currentResultStore,
  isTextType,
  READ_RESULT_INPUT,
  RESULT_URI_PREFIX,
  type ReadResultOptions,
  type ResultStore,
  readResult,
} from './results/results.ts'
import { ToolFatalError, ToolRetryError } from './tool-error.ts'

/** The maximum size that clients accept as one resource. Larger results are read with the tool, page by page. */
const MAX_RESOURCE_BYTES = 4 * 1024 * 1024

export interface OfferResultsOptions extends ReadResultOptions {
  /** The name of the tool. */
  readonly name?: string
  /** Returns the store of the calling session. Default: the store in its workspace. */
  readonly store?: () => ResultStore
}

/** Lets callers read their saved results: page by page with a tool, or through the links in results. */
export function offerResults(server: McpServer, options: OfferResultsOptions = {}): void {
  const { name = READ_RESULT_TOOL, store = requireCurrentResultStore } = options
  server.tool(
    name,
    {
      title: 'Read a saved result',
      description:
        'Reads part of a result that was too long to be shown whole, by the handle that its preview names. Give one of offset, lines, rows, path or grep.',
      permission: READ,
      input: READ_RESULT_INPUT,
    },
    (args) => readResult(store(), args, options),
  )
  server.resourceTemplate(
    `${RESULT_URI_PREFIX}{handle}`,
    { name: 'saved-result', description: 'A result that was saved whole' },
    async ({ variables }) => {
      const found = await store().read(variables.handle ?? '')
      if (found === undefined) return undefined
      const { saved, bytes } = found
      if (saved.size <= MAX_RESOURCE_BYTES) return isTextType(saved.mimeType) ? bytes.toString('utf8') : bytes
      throw new ToolRetryError(`The result has ${saved.size} bytes. Read it with ${READ_RESULT_TOOL}.`)
    },
  )
}

function requireCurrentResultStore(): ResultStore {
  const store = currentResultStore()
  if (store !== undefined) return store
  throw new ToolFatalError('The caller is unknown, so it has no saved results.', {
    nextStep: 'The operator must give the connection an identity.',
  })
}
