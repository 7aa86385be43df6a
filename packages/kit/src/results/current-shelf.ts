import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findScope, ownerFolder } from '../identity/identity.ts'
import { createWorkspace } from '../workspace/workspace.ts'
import { openResultShelf, type ResultShelf } from './result-shelf.ts'

/** The saved results of the calling user and session; nothing where nobody calls. */
export function currentShelf(): ResultShelf | undefined {
  const scope = findScope()
  if (scope === undefined) return undefined
  const root = ownerFolder(join(scope.dataFolder, 'workspaces'), scope.userId, scope.sessionId)
  mkdirSync(root, { recursive: true, mode: 0o700 })
  return openResultShelf({ workspace: createWorkspace(root) })
}
