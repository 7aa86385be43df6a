import type { LocalTokens } from '../../sessions/sessions.ts'
import type { GatewayHold } from './gateway-hold.ts'
import type { PlannedWindow } from './planned-window.ts'
import { abandonedRuns, notedTokens, noteToken, type RunFolder, removeRunFolder } from './run-folder.ts'

export interface LaunchIdentity {
  readonly agent: string
  readonly profile: string
  /** The one that the runs of its profile share; one of its own without. */
  readonly session: string | undefined
  /** A person sits in front of the agent, and is shown what a server asks. */
  readonly attended: boolean
  /** What gives the agent servers that are not governed. */
  readonly others: readonly string[]
}

export interface TokenWish extends LaunchIdentity {
  readonly window: PlannedWindow
}

export interface LaunchToken {
  readonly id: string
  /** The key of the window that it is for. */
  readonly window: string
  /** The clear text. */
  readonly token: string
}

const sessionOf = ({ id }: RunFolder): string => `run:${id}`

export async function mintLaunchToken(
  hold: GatewayHold,
  run: RunFolder,
  { agent, profile, session = sessionOf(run), window, attended, others }: TokenWish,
): Promise<LaunchToken> {
  const { key, tools } = window
  const wish = { agent, profile, session, attended, ...(tools && { tools }) }
  const { token, record } = await hold.mint({ ...wish, ...(others.length > 0 && { otherServers: others }) })
  noteToken(run, record.id)
  return { id: record.id, window: key, token }
}

/** Also when the gateway is gone: the files are the truth. */
export async function endLaunchToken(hold: GatewayHold, state: string, id: string): Promise<void> {
  try {
    await hold.revoke(id)
  } catch {
    const tokens = await openTokens(state)
    await tokens.revoke(id).finally(() => tokens.close())
  }
}

/** What runs left behind that were killed. First the token and then the folder by which it is found. */
export async function sweepRuns(state: string): Promise<void> {
  const abandoned = abandonedRuns(state)
  if (abandoned.length === 0) return
  const tokens = await openTokens(state)
  try {
    for (const run of abandoned) {
      const noted = notedTokens(run)
      const left = tokens.list().filter(({ id, session }) => noted.includes(id) || session === sessionOf(run))
      for (const { id } of left) await tokens.revoke(id)
      removeRunFolder(run)
    }
  } finally {
    tokens.close()
  }
}

/** Loaded when it is needed: every run waits for what it does not need. */
async function openTokens(state: string): Promise<LocalTokens> {
  const { openLocalTokens } = await import('../../sessions/sessions.ts')
  return openLocalTokens({ state })
}
