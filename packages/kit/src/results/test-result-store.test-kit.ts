import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createWorkspace, type WorkspaceOptions } from '../workspace/workspace.ts'
import { openResultStore, type ResultStore, type ResultStoreOptions } from './result-store.ts'

/** A temporary folder for one test, removed afterwards. */
export function createTestRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-results-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(root, { recursive: true })
  return root
}

export function openTestStore(
  root: string,
  options: Omit<ResultStoreOptions, 'workspace'> = {},
  workspace: WorkspaceOptions = {},
): ResultStore {
  return openResultStore({ workspace: createWorkspace(root, workspace), ...options })
}
