import { ownerFolder } from '@sallyport/kit'
import { SessionKeys } from '@sallyport/kit/keys'
import { type Environment, locateKeys, type Settings } from '../config/config.ts'
import { type RemovedData, SessionResults } from '../isolation/isolation.ts'
import { SessionWorkspaces } from '../sandbox/sandbox.ts'
import { EndedSessions } from '../sessions/sessions.ts'

/** What sessions store and share, with which keys, and which sessions have ended. */
export interface SessionData {
  readonly ended: EndedSessions
  readonly sessionKeys: SessionKeys
  readonly sessionResults: SessionResults
  readonly workspaces: SessionWorkspaces
}

export interface SessionDataOptions {
  /** The caller must hold its lock. */
  readonly state: string
  /** If known: the keys must not be inside. */
  readonly home?: string | undefined
  readonly environment: Environment
  readonly settings: () => Pick<Settings, 'context' | 'sandbox'>
  readonly onRemoved?: (owner: { readonly user: string; readonly session: string }, removed: RemovedData) => void
  readonly onWarning: (text: string) => void
}

/** Throws if the environment contains an invalid master key. No key is read or created before the first result. */
export function openSessionData({ state, home, environment, settings, ...on }: SessionDataOptions): SessionData {
  const ended = new EndedSessions({ state, onWarning: on.onWarning })
  const sessionKeys = new SessionKeys({
    folder: locateKeys({ environment, cwd: process.cwd() }),
    notInside: home === undefined ? [state] : [state, home],
    dataFolder: state,
    environment,
    onProblem: on.onWarning,
  })
  const workspaces = new SessionWorkspaces({
    ...{ state, environment, folderOf: ownerFolder, hasEnded: (owner) => ended.hasEnded(owner) },
    settings: () => {
      const { sandbox, context } = settings()
      return { storage: sandbox.workspaces, maxBytes: sandbox.limits.workspace, age: context.retention.age }
    },
  })
  const sessionResults = new SessionResults({ state, settings, sessionKeys, ended, ...on })
  return { ended, sessionKeys, sessionResults, workspaces }
}
