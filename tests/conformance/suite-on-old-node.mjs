/**
 * Lets the suite start on a Node without `fs.globSync`, which it imports for a command that is not used here and
 * without which no module can be linked to it. Give it to `node --import`.
 */
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const COMPLETED_FS = 'data:text/javascript,export * from "node:fs"; export const globSync = undefined'

// The same file is loaded once more where the hooks run.
if (isMainThread) register(import.meta.url)

export function resolve(specifier, context, next) {
  const isAsked = specifier === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
  return isAsked ? { url: COMPLETED_FS, shortCircuit: true } : next(specifier, context)
}
