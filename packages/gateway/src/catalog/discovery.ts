import type { SallyportEvent } from '@sallyport/core'
import type { ServerCatalog } from '../upstream/upstream.ts'

/** A server decides how many tools it has and how often they change. It must not decide the size of our log. */
const MAX_NAMED = 100

/** How a server's tools changed since they were last seen; `undefined` if they did not. */
export function buildDiscoveryEvent(
  server: string,
  before: ServerCatalog | undefined,
  after: ServerCatalog,
): SallyportEvent | undefined {
  if (before?.tools === after.tools && before?.revealed === after.revealed) return undefined
  const printed = (serverCatalog: ServerCatalog | undefined) =>
    new Map(
      [...(serverCatalog?.tools ?? []), ...(serverCatalog?.revealed?.tools ?? [])].map((tool) => [
        String(tool.name),
        JSON.stringify(tool),
      ]),
    )
  const [old, now] = [printed(before), printed(after)]
  const added = [...now.keys()].filter((name) => !old.has(name))
  const removed = [...old.keys()].filter((name) => !now.has(name))
  const changed = [...now].filter(([name, text]) => old.has(name) && old.get(name) !== text).map(([name]) => name)
  if (added.length + removed.length + changed.length === 0) return undefined
  return {
    type: 'TOOLS_DISCOVERED',
    server,
    added: added.slice(0, MAX_NAMED),
    removed: removed.slice(0, MAX_NAMED),
    changed: changed.slice(0, MAX_NAMED),
    tools: now.size,
  }
}
