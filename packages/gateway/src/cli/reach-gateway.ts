import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { Gateway } from '../gateway.ts'
import type { CliContext } from './cli-context.ts'
import { answers, createLocalExchange, createSocketExchange } from './exchange.ts'
import { findHome, stateOf } from './find-home.ts'
import { GatewayClient } from './gateway-client.ts'
import type { GlobalFlags } from './global-flags.ts'
import { unlessHeld } from './unless-held.ts'

/** A gateway that has the state but not its socket yet is about to open it. */
const PATIENCE_MS = 5_000
const PAUSE_MS = 50

/** `fresh`: it was started for this command alone. */
type Age = 'running' | 'fresh'
type Use<Result> = (client: GatewayClient, age: Age) => Promise<Result>

/** The gateway that runs on a state, if one answers. With a home it is refused when it serves another. */
export async function reachRunning(state: string, home?: string): Promise<GatewayClient | undefined> {
  return (await answers(state)) ? new GatewayClient(createSocketExchange({ state, home })) : undefined
}

/** Uses the gateway of the home: the one that runs, or one in this process for as long as it is used. */
export function withGateway<Result>(context: CliContext, flags: GlobalFlags, use: Use<Result>): Promise<Result> {
  return withGatewayThat('writes', { context, flags, use })
}

/** The same; one in this process leaves tools.yaml as it is, whatever it finds. */
export function withLookingGateway<Result>(context: CliContext, flags: GlobalFlags, use: Use<Result>): Promise<Result> {
  return withGatewayThat('looks', { context, flags, use })
}

interface Usage<Result> {
  readonly context: CliContext
  readonly flags: GlobalFlags
  readonly use: Use<Result>
}

async function withGatewayThat<Result>(
  discovery: 'writes' | 'looks',
  { context, flags, use }: Usage<Result>,
): Promise<Result> {
  const { home, state } = await findHome(context, flags)
  return eitherWay(context, {
    state,
    use,
    reach: () => reachRunning(state, home.path),
    open: () => openGatewayHere(context, flags, discovery),
  })
}

/** Uses the records and tokens of a state. No server is started for it, and no home is read. */
export async function withRecords<Result>(context: CliContext, flags: GlobalFlags, use: Use<Result>): Promise<Result> {
  const state = stateOf(context, flags)
  return eitherWay(context, {
    state,
    use,
    reach: () => reachRunning(state),
    open: async () => (await import('./offline-records.ts')).openRecordsHere(context, state),
  })
}

interface Opened {
  readonly client: GatewayClient
  close(): Promise<void>
}

interface Ways<Result> {
  readonly state: string
  readonly use: Use<Result>
  readonly reach: () => Promise<GatewayClient | undefined>
  /** Throws STATE_HELD when another process has the state. */
  readonly open: () => Promise<Opened>
}

/** The holder of a state may come or go between the two questions, so both are asked again for a while. */
async function eitherWay<Result>({ signal }: CliContext, { state, use, reach, open }: Ways<Result>): Promise<Result> {
  for (const until = performance.now() + PATIENCE_MS; ; await delay(PAUSE_MS)) {
    signal.throwIfAborted()
    const running = await reach()
    if (running) return use(running, 'running')
    const opened = await open().catch(unlessHeld)
    if (opened) return useHere(opened, use)
    if (performance.now() > until) throw silent(state)
  }
}

async function useHere<Result>({ client, close }: Opened, use: Use<Result>): Promise<Result> {
  try {
    return await use(client, 'fresh')
  } finally {
    await close()
  }
}

function silent(state: string): SallyportError {
  return new SallyportError('GATEWAY_UNREACHABLE', `Another process holds the state ${state}, but does not answer.`, {
    hint: '`sallyport doctor` says which. Stop it, or name another state with --state.',
  })
}

async function openGatewayHere(
  context: CliContext,
  flags: GlobalFlags,
  discovery: 'writes' | 'looks',
): Promise<Opened> {
  const { openWithDoors } = await import('./open-with-doors.ts')
  const { gateway, close } = await openWithDoors(context, flags, { discovery })
  try {
    await untilKnown(gateway, context.signal)
    return { client: await localClient(gateway), close: () => close('the command ended') }
  } catch (error) {
    await close('the command was stopped')
    throw error
  }
}

/** A server that is not known yet gets all the time that its entry allows: nobody else waits here. */
async function untilKnown({ fleet, settings }: Gateway, signal: AbortSignal): Promise<void> {
  const patience = Math.max(0, ...settings.servers.map(({ timeouts }) => timeouts.startup))
  const stop = new AbortController()
  const stopped = delay(patience, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => {})
  await Promise.race([fleet.untilKnown(patience), stopped])
  stop.abort()
  signal.throwIfAborted()
}

async function localClient(gateway: Gateway): Promise<GatewayClient> {
  const [{ createApi }, { standingPrincipal }, { adminContextOf }] = await Promise.all([
    import('../serve/api/api.ts'),
    import('../sessions/sessions.ts'),
    import('../doors.ts'),
  ])
  const api = createApi(adminContextOf(gateway, () => []))
  return new GatewayClient(createLocalExchange(api, standingPrincipal('operator')))
}
