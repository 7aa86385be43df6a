import { lstat, unlink } from 'node:fs/promises'
import { undefinedIfMissing } from './refusals.ts'
import type { Usage } from './space.ts'
import { isTemporaryName } from './temporary-name.ts'
import { useEntry, type WorkspaceTree, walkTree } from './walk.ts'

/** No write takes this long: whoever made such a file was killed over it. */
const STALE_MS = 3_600_000

/** Counts what a workspace holds, up to so many entries, and removes what killed writers left in it. */
export async function measureTree(tree: WorkspaceTree, most: number): Promise<Usage> {
  let bytes = 0
  let entries = 0
  for await (const { entry, segments } of walkTree(tree, [], most)) {
    bytes += entry.size ?? 0
    entries++
    if (isTemporaryName(entry.name)) await removeStale(tree, segments)
  }
  return { bytes, entries }
}

async function removeStale(tree: WorkspaceTree, segments: readonly string[]): Promise<void> {
  await useEntry(tree, segments.slice(0, -1), async ({ location }) => {
    const name = `${location}/${segments.at(-1)}`
    const stats = await undefinedIfMissing(lstat(name))
    if (stats !== undefined && Date.now() - stats.mtimeMs > STALE_MS) await undefinedIfMissing(unlink(name))
  })
}
