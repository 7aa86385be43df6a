import type { Watchdog } from '../processes/processes.ts'
import type { StderrTail } from '../stderr-tail.ts'

/** What one run of a Docker MCP Gateway needs. */
export interface DockerRun {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly mark: string
  readonly watchdog: Watchdog
  readonly stderr: StderrTail
}
