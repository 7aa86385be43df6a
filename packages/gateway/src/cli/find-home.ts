import { type Home, type HomeContent, locateHome, locateState, readHome, requireHome } from '../config/config.ts'
import type { CliContext } from './cli-context.ts'
import type { GlobalFlags } from './global-flags.ts'

export interface FoundHome {
  readonly home: Home
  readonly content: HomeContent
  readonly state: string
}

/** Finds the home that the flags select and reads its files once. Nothing of it is applied yet. */
export async function findHome({ environment, cwd }: CliContext, flags: GlobalFlags): Promise<FoundHome> {
  const home = locateHome({ flag: flags.home, environment, cwd })
  requireHome(home)
  const state = locateState({ flag: flags.state, environment, cwd })
  return { home, content: await readHome(home.path), state }
}

const OTHER_STATE = 'If you mean another state, name it with --state.'

/** For users who may have meant the gateway of another state. */
export const noGatewayMessage = (context: CliContext, flags: GlobalFlags): string =>
  `No gateway runs on the state ${resolveState(context, flags)}. ${OTHER_STATE}`

export function resolveState({ environment, cwd }: CliContext, flags: GlobalFlags): string {
  return locateState({ flag: flags.state, environment, cwd })
}
