import { quoteText, SallyportError, type SallyportEvent, toOwnerKey } from '@sallyport/core'
import { createSessionControl } from '../../compose/session-control.ts'
import { openSessionData } from '../../compose/session-data.ts'
import { DEFAULT_SETTINGS, prepareState } from '../../config/config.ts'
import { type ModeState, openModeState, SessionLabels } from '../../governance/governance.ts'
import { createApi } from '../../serve/api/api.ts'
import { createIds } from '../../serve/serve.ts'
import { type LocalTokens, openLocalTokens, standingPrincipal } from '../../sessions/sessions.ts'
import { type EventLog, lockState, openStore, type Store } from '../../store/store.ts'
import { VERSION } from '../../version.ts'
import type { CliContext } from '../cli-context.ts'
import { createLocalTransport } from './api-transport.ts'
import { GatewayClient } from './gateway-client.ts'

export interface OfflineRecords {
  readonly client: GatewayClient
  close(): Promise<void>
}

/** Opens the records and tokens of a state without a running gateway. Throws STATE_HELD if one runs. */
export async function openOfflineRecords({ process, environment }: CliContext, state: string): Promise<OfflineRecords> {
  const onWarning = (text: string): void => void process.stderr.write(`! ${text}\n`)
  const { warnings } = await prepareState(state)
  for (const text of warnings) onWarning(text)
  const lock = await lockState(state, { version: VERSION, home: '' })
  if (lock.held) throw new SallyportError('STATE_HELD', `Another process holds the state ${state}.`)
  let store: Store | undefined
  try {
    store = openStore({ state, durability: 'process' })
    const tokens = await openLocalTokens({ state, onWarning })
    const mode = openMode(state, store.log, onWarning)
    const parts = { state, environment, onWarning, store, tokens, mode, lock }
    return { client: createClient(parts), close: () => closeAll(parts) }
  } catch (error) {
    await store?.close()
    lock.release()
    throw error
  }
}

interface Parts {
  readonly state: string
  readonly environment: CliContext['environment']
  readonly onWarning: (text: string) => void
  readonly store: Store
  readonly tokens: LocalTokens
  readonly mode: ModeState
  readonly lock: { release(): void }
}

function openMode(state: string, log: EventLog, onWarning: (text: string) => void): ModeState {
  const record = async (event: SallyportEvent): Promise<void> => {
    log.append(event)
    await log.sync()
  }
  return openModeState({ state, now: () => new Date(), record, onWarning })
}

type ApiContext = Parameters<typeof createApi>[0]
type OfflineParts = 'version' | 'settings' | 'store' | 'tokens' | 'mode' | 'approving' | 'ids' | 'record' | 'control'

/** Without a running gateway no call waits. */
const NO_APPROVALS: ApiContext['approving'] = {
  approvals: {
    pending: [],
    list: async () => [],
    find: async (id) => unknownApproval(id),
    answer: async (id) => unknownApproval(id),
  },
  hook: { acceptAnswer: async (id) => unknownApproval(id) },
  preview: async ({ id }) => unknownApproval(id),
}

function unknownApproval(id: string): never {
  throw new SallyportError('APPROVAL_UNKNOWN', `No gateway runs here, so no request ${quoteText(id, 60)} waits.`, {
    hint: 'If you mean the gateway of another state, name it with --state.',
  })
}

/** Only the routes for records, tokens, approvals and the mode are used here; they need no other part of a gateway. */
function createClient({ state, environment, store, tokens, mode, onWarning }: Parts): GatewayClient {
  const record = async (event: SallyportEvent): Promise<void> => {
    store.log.append(event)
    await store.log.sync()
  }
  const labels = new SessionLabels({ records: store.labels, record, onWarning })
  const settings = () => DEFAULT_SETTINGS
  const { ended, sessionResults, workspaces } = openSessionData({ state, environment, settings, onWarning })
  const context: Pick<ApiContext, OfflineParts> = {
    version: VERSION,
    settings: DEFAULT_SETTINGS,
    store,
    tokens,
    mode,
    approving: NO_APPROVALS,
    ids: createIds(),
    record: (event) => store.log.append(event),
    control: createSessionControl({
      ...{ labels, records: store.labels, ended, sessionResults, record },
      endPrograms: (owner) => workspaces.remove(toOwnerKey(owner)),
    }),
  }
  return new GatewayClient(createLocalTransport(createApi(context as ApiContext), standingPrincipal('operator')))
}

async function closeAll({ store, tokens, mode, lock }: Parts): Promise<void> {
  tokens.close()
  await mode.close()
  await store.close()
  lock.release()
}
