import { findScope } from '../identity/identity.ts'
import { currentWorkspace, type Workspace } from '../workspace/workspace.ts'
import { openResultShelf, type ResultShelf } from './result-shelf.ts'

/** One shelf for each workspace, so that calls at the same time know of each other's files. */
const shelves = new WeakMap<Workspace, ResultShelf>()

/** The saved results of the calling user and session; nothing where nobody calls. */
export function currentShelf(): ResultShelf | undefined {
  if (findScope() === undefined) return undefined
  const workspace = currentWorkspace()
  const shelf = shelves.get(workspace) ?? openResultShelf({ workspace })
  shelves.set(workspace, shelf)
  return shelf
}
