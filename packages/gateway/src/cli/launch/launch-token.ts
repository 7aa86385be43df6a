import type { LocalTokens } from '../../sessions/sessions.ts'
import type { GatewayLease } from './gateway-hold.ts'
import type { PlannedWindow } from './planned-window.ts'
import { findAbandonedRuns, type RunFolder, readRecordedTokens, recordToken, removeRunFolder } from './run-folder.ts'

export interface LaunchIdentity {
  readonly agent: string
  readonly profile: string
  /** The one that the runs of its profile share; one of its own without. */
  readonly session: string | undefined
  /** A person sits in front of the agent, and is shown what a server asks. */
  readonly attended: boolean
  /** What gives the agent servers that are not governed. */
  readonly otherServers: readonly string[]
}

export interface LaunchTokenRequest extends LaunchIdentity {
  readonly window: PlannedWindow
}

export interface LaunchToken {
  readonly id: string
  /** The key of the window that it is for. */
  readonly window: string
  /** The clear text. */
  readonly token: string
}

const defaultSession = ({ id }: RunFolder): string => `run:${id}`

export async function mintLaunchToken(
  hold: GatewayLease,
  run: RunFolder,
  { agent, profile, session = defaultSession(run), window, attended, otherServers: others }: LaunchTokenRequest,
): Promise<LaunchToken> {
  const { key, tools } = window
  const wish = { agent, profile, session, attended, ...(tools && { tools }) }
  const { token, record } = await hold.mint({ ...wish, ...(others.length > 0 && { otherServers: others }) })
  recordToken(run, record.id)
  return { id: record.id, window: key, token }
}

/** Also when the gateway is gone: the files are the truth. */
export async function revokeLaunchToken(hold: GatewayLease, state: string, id: string): Promise<void> {
  try {
    await hold.revoke(id)
  } catch {
    const tokens = await openTokens(state)
    await tokens.revoke(id).finally(() => tokens.close())
  }
}

/** What runs left behind that were killed. First the token and then the folder by which it is found. */
export async function removeAbandonedRuns(state: string): Promise<void> {
  const abandoned = findAbandonedRuns(state)
  if (abandoned.length === 0) return
  const tokens = await openTokens(state)
  try {
    for (const run of abandoned) {
      const noted = readRecordedTokens(run)
      const left = tokens.list().filter(({ id, session }) => noted.includes(id) || session === defaultSession(run))
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
