import { SallyportError } from '@sallyport/core'
import { EntryPoints } from '../../compose/entry-points.ts'
import type { Gateway } from '../../compose/gateway.ts'
import { openGateway } from '../../compose/open-gateway.ts'
import { describeIssue, followHome, loadSettings, prepareState, requireTrust } from '../../config/config.ts'
import { lockState, openStore, type StateHolder } from '../../store/store.ts'
import type { StartTime } from '../../upstream/upstream.ts'
import { VERSION } from '../../version.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { reportBug } from '../terminal/print-error.ts'

export interface OpenGateway {
  readonly gateway: Gateway
  readonly entryPoints: EntryPoints
  close(reason: string): Promise<void>
}

export interface EntryPointsOptions extends Pick<OpenOptions, 'discovery' | 'onNotice' | 'startServers'> {
  readonly onOpen?: (entryPoints: EntryPoints, gateway: Gateway) => Promise<void>
}

/** Opens the gateway of a home in this process, with its socket, so that other windows can join it. */
export async function openWithEntryPoints(
  context: CliContext,
  flags: GlobalFlags,
  { onOpen, ...options }: EntryPointsOptions = {},
): Promise<OpenGateway> {
  const opened: { entryPoints?: EntryPoints } = {}
  const open = async (gateway: Gateway): Promise<void> => {
    const entryPoints = new EntryPoints(gateway, reportBug)
    await entryPoints.openSocket()
    opened.entryPoints = entryPoints
    await onOpen?.(entryPoints, gateway).catch(async (error: unknown) => {
      await entryPoints.close()
      throw error
    })
  }
  const { gateway, close } = await openHome(context, flags, { ...options, onOpen: open })
  const entryPoints = opened.entryPoints as EntryPoints
  return {
    gateway,
    entryPoints,
    close: async (reason) => {
      // The gateway answers in-flight requests while the entry points accept no new connections. The state is released
      // last.
      await Promise.all([entryPoints.close(), gateway.close(reason)])
      await close(reason)
    },
  }
}

interface OpenedHome {
  readonly gateway: Gateway
  close(reason?: string): Promise<void>
}

interface OpenOptions {
  /** Runs as soon as this process holds the state, before any server starts. */
  readonly onOpen?: (gateway: Gateway) => Promise<void>
  readonly onWarning?: (text: string) => void
  /** `reads`: tools.yaml is never changed. */
  readonly discovery?: 'writes' | 'reads' | undefined
  /** When the servers are started; at once by default. */
  readonly startServers?: StartTime | undefined
  /** Called with messages that may interest people although nothing is wrong. */
  readonly onNotice?: ((text: string) => void) | undefined
}

/** Opens the gateway of a home in this process. Throws STATE_HELD if another one runs on the state. */
async function openHome(context: CliContext, flags: GlobalFlags, options: OpenOptions = {}): Promise<OpenedHome> {
  const { environment } = context
  const onWarning = options.onWarning ?? ((text) => void context.process.stderr.write(`! ${text}\n`))
  const { home, content, state } = await findHome(context, flags)
  const folder = await prepareState(state)
  await requireTrust({ home, content, state })
  const loaded = await loadSettings({ home: home.path, environment, content })
  const lock = await lockState(state, { version: VERSION, home: home.path })
  if (lock.held) throw stateHeld(state, lock.holder)
  for (const text of [...folder.warnings, ...loaded.warnings.map(describeIssue)]) onWarning(text)
  try {
    const { durability, retention } = loaded.settings.audit
    const store = openStore({ state, durability, retention })
    const { discovery, onNotice } = options
    const gateway = await openGateway({ home, state, loaded, environment, store, discovery, onNotice, onWarning })
    const profilesInForce = () => gateway.settings.profiles
    const following = followHome({ home, state, environment, gateway, current: loaded, profilesInForce })
    const close = async (reason = 'the command ended'): Promise<void> => {
      await following.close()
      await gateway.close(reason)
      lock.release()
    }
    await options.onOpen?.(gateway).catch(async (error: unknown) => {
      await close('it could not be opened')
      throw error
    })
    gateway.start(options.startServers)
    return { gateway, close }
  } catch (error) {
    lock.release()
    throw error
  }
}

function stateHeld(state: string, holder: StateHolder | undefined): SallyportError {
  const who = holder === undefined ? 'Another gateway' : `The gateway with pid ${holder.pid} (home ${holder.home})`
  return new SallyportError('STATE_HELD', `${who} runs on the state ${state}.`, {
    hint: 'Stop it, or give this one a state of its own with --state.',
  })
}
