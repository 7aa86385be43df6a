import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createWorkspace, type WorkspaceOptions } from '../workspace/workspace.ts'
import { openResultShelf, type ResultShelf, type ShelfOptions } from './result-shelf.ts'

/** A temporary folder for one test, removed afterwards. */
export function createTestRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-results-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(root, { recursive: true })
  return root
}

export function openTestShelf(
  root: string,
  options: Omit<ShelfOptions, 'workspace'> = {},
  workspace: WorkspaceOptions = {},
): ResultShelf {
  return openResultShelf({ workspace: createWorkspace(root, workspace), ...options })
}
