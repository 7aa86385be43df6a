import { MAIN_FILE } from '../../package-root.ts'

/** A server entry of the agent that is a window of the gateway, with its own token. */
export interface PlannedWindow {
  /** Identifies the window within the run. */
  readonly key: string
  /** Selectors that narrow the profile further, for this window only. */
  readonly tools: readonly string[] | undefined
}

export interface WindowPlace {
  /** The run folder. */
  readonly folder: string
  readonly state: string
}

/** The key of the window in a run that has only one. */
export const ONLY_WINDOW = '0'

/** The command with which the agent starts the window. It contains no secret. */
export function buildWindowCommand({ folder, state }: WindowPlace, { key }: PlannedWindow) {
  const which = key === ONLY_WINDOW ? [] : ['--window', key]
  return {
    command: process.execPath,
    args: [MAIN_FILE, 'serve', '--stdio', '--state', state, '--launch', folder, ...which],
  }
}
