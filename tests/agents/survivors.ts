import { readFileSync } from 'node:fs'
import { eventually, processesWith } from '../harness/processes.ts'
import type { AgentPlace } from './agent-place.ts'

/** A process that outlives its agent must not outlive the test: the command lines of those that did. */
export async function endSurvivors({ root }: AgentPlace): Promise<readonly string[]> {
  await eventually(
    () => processesWith(root),
    (pids) => pids.length === 0,
  ).catch(() => {})
  return processesWith(root).flatMap((pid) => {
    try {
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
      process.kill(pid, 'SIGKILL')
      return [commandLine]
    } catch {
      // It ended after all.
      return []
    }
  })
}
