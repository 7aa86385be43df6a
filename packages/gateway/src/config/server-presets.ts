import { findPreset, type Presets, SallyportError } from '@sallyport/core'
import { joinKey } from './config-issue.ts'
import type { IssueLog, KeyLocation } from './issue-log.ts'
import type { LocatedNode } from './located-tree.ts'

/** An entry of a server, and where it stands. */
export interface LocatedServer extends KeyLocation {
  readonly node: LocatedNode
}

/** What a server's `result` names has to be a preset: one that nobody knows would bound nothing as it was meant to. */
export function checkPresets(servers: readonly LocatedServer[], presets: Presets, log: IssueLog): void {
  for (const { node, key } of servers) {
    const result = node.kind === 'map' ? node.entries.find((entry) => entry.key === 'result') : undefined
    if (result?.node.kind !== 'scalar' || typeof result.node.value !== 'string') continue
    const problem = result.node.value.includes('${') ? undefined : findPresetProblem(result.node.value, presets)
    if (problem !== undefined) log.error({ offset: result.offset, key: joinKey(key, 'result') }, problem)
  }
}

function findPresetProblem(name: string, presets: Presets): string | undefined {
  try {
    findPreset(name, presets)
    return undefined
  } catch (error) {
    if (error instanceof SallyportError) return error.text
    throw error
  }
}
