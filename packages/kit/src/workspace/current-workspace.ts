import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ToolFatalError } from '../agent-error.ts'
import { currentScope, ownerFolder } from '../identity/identity.ts'
import { createWorkspace, type Workspace } from './create-workspace.ts'
import { bareCause } from './refusals.ts'
import { DIRECTORY_MODE } from './safe-open.ts'

const MOST_KEPT = 1_000
const kept = new Map<string, Workspace>()

/** The workspace of the user and session on whose behalf the running handler was called. */
export function currentWorkspace(): Workspace {
  const { dataFolder, userId, sessionId } = currentScope()
  const root = ownerFolder(join(dataFolder, 'workspaces'), userId, sessionId)
  try {
    mkdirSync(root, { recursive: true, mode: DIRECTORY_MODE })
  } catch (error) {
    throw new ToolFatalError('The workspace cannot be made.', { cause: bareCause(error) })
  }
  return kept.get(root) ?? keep(root)
}

/** Kept for what it knows of the space that is left; whoever was not there for long is measured again. */
function keep(root: string): Workspace {
  const [oldest] = kept.keys()
  if (oldest !== undefined && kept.size >= MOST_KEPT) kept.delete(oldest)
  const workspace = createWorkspace(root)
  kept.set(root, workspace)
  return workspace
}
