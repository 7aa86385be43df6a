import { SallyportError } from '@sallyport/core'
import { DEFAULT_SETTINGS, prepareState } from '../config/config.ts'
import { createApi } from '../serve/api/api.ts'
import { createIds } from '../serve/serve.ts'
import { type LocalTokens, openLocalTokens, standingPrincipal } from '../sessions/sessions.ts'
import { lockState, openStore, type Store } from '../store/store.ts'
import { VERSION } from '../version.ts'
import type { CliContext } from './cli-context.ts'
import { createLocalExchange } from './exchange.ts'
import { GatewayClient } from './gateway-client.ts'

export interface OfflineRecords {
  readonly client: GatewayClient
  close(): Promise<void>
}

/** Opens the records and tokens of a state that no gateway runs on. Throws STATE_HELD when one does. */
export async function openRecordsHere({ process }: CliContext, state: string): Promise<OfflineRecords> {
  const onTrouble = (text: string): void => void process.stderr.write(`! ${text}\n`)
  const { warnings } = await prepareState(state)
  for (const text of warnings) onTrouble(text)
  const lock = await lockState(state, { version: VERSION, home: '' })
  if (lock.held) throw new SallyportError('STATE_HELD', `Another process holds the state ${state}.`)
  let store: Store | undefined
  try {
    store = openStore({ state, durability: 'process' })
    const tokens = await openLocalTokens({ state, onTrouble })
    return { client: clientOf(store, tokens), close: () => closeAll({ store: store as Store, tokens, lock }) }
  } catch (error) {
    await store?.close()
    lock.release()
    throw error
  }
}

type ApiContext = Parameters<typeof createApi>[0]

/** Only the routes of records and tokens are asked here, and these need no more of a gateway. */
function clientOf(store: Store, tokens: LocalTokens): GatewayClient {
  const context: Pick<ApiContext, 'version' | 'settings' | 'store' | 'tokens' | 'ids' | 'record'> = {
    version: VERSION,
    settings: DEFAULT_SETTINGS,
    store,
    tokens,
    ids: createIds(),
    record: (event) => store.log.append(event),
  }
  return new GatewayClient(createLocalExchange(createApi(context as ApiContext), standingPrincipal('operator')))
}

interface Parts {
  readonly store: Store
  readonly tokens: LocalTokens
  readonly lock: { release(): void }
}

async function closeAll({ store, tokens, lock }: Parts): Promise<void> {
  tokens.close()
  await store.close()
  lock.release()
}
