import { MAIN_FILE } from '../../package-root.ts'

/** A server of the agent's that is a window of the gateway, with a token of its own. */
export interface PlannedWindow {
  /** Which window of the run it is. */
  readonly key: string
  /** Narrows the profile further, for this window alone. */
  readonly tools: readonly string[] | undefined
}

export interface WindowPlace {
  /** The folder of the run. */
  readonly folder: string
  readonly state: string
}

/** The window of a run that has just one. */
export const ONLY_WINDOW = '0'

/** How the agent starts it. Nothing secret is in it. */
export function buildWindowCommand({ folder, state }: WindowPlace, { key }: PlannedWindow) {
  const which = key === ONLY_WINDOW ? [] : ['--window', key]
  return {
    command: process.execPath,
    args: [MAIN_FILE, 'serve', '--stdio', '--state', state, '--launch', folder, ...which],
  }
}
