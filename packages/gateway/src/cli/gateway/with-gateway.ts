import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { Gateway } from '../../compose/gateway.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome, resolveState } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createLocalTransport, createSocketTransport, isListening } from './api-transport.ts'
import { GatewayClient } from './gateway-client.ts'

/** A gateway that holds the state but has no socket yet is about to open it. */
const TIMEOUT_MS = 5_000
const RETRY_MS = 50

/** `fresh`: the gateway was started for this command alone. */
type GatewayOrigin = 'running' | 'fresh'
type ClientCallback<Result> = (client: GatewayClient, age: GatewayOrigin) => Promise<Result>

/**
 * The gateway that runs on a state, if one listens. If `home` is given, a gateway of another home refuses the requests.
 */
export async function findRunningGateway(state: string, home?: string): Promise<GatewayClient | undefined> {
  return (await isListening(state)) ? new GatewayClient(createSocketTransport({ state, home })) : undefined
}

/** Uses the gateway of the home: the running one, or a temporary one in this process. */
export function withGateway<Result>(
  context: CliContext,
  flags: GlobalFlags,
  use: ClientCallback<Result>,
): Promise<Result> {
  return withDiscovery('writes', { context, flags, use })
}

/** Like `withGateway`, but a temporary gateway never changes tools.yaml. */
export function withReadOnlyGateway<Result>(
  context: CliContext,
  flags: GlobalFlags,
  use: ClientCallback<Result>,
): Promise<Result> {
  return withDiscovery('reads', { context, flags, use })
}

interface GatewayUse<Result> {
  readonly context: CliContext
  readonly flags: GlobalFlags
  readonly use: ClientCallback<Result>
}

async function withDiscovery<Result>(
  discovery: 'writes' | 'reads',
  { context, flags, use }: GatewayUse<Result>,
): Promise<Result> {
  const { home, state } = await findHome(context, flags)
  return useRunningOrOpen(context, {
    state,
    use,
    reach: () => findRunningGateway(state, home.path),
    open: () => openLocalGateway(context, flags, discovery),
  })
}

/** Uses the records and tokens of a state. No server is started, and no home is read. */
export async function withRecords<Result>(
  context: CliContext,
  flags: GlobalFlags,
  use: ClientCallback<Result>,
): Promise<Result> {
  const state = resolveState(context, flags)
  return useRunningOrOpen(context, {
    state,
    use,
    reach: () => findRunningGateway(state),
    open: async () => (await import('./offline-records.ts')).openOfflineRecords(context, state),
  })
}

interface OpenedClient {
  readonly client: GatewayClient
  close(): Promise<void>
}

interface GatewayAccess<Result> {
  readonly state: string
  readonly use: ClientCallback<Result>
  readonly reach: () => Promise<GatewayClient | undefined>
  /** Throws STATE_HELD if another process holds the state. */
  readonly open: () => Promise<OpenedClient>
}

/** The holder of a state may start or stop between the two attempts, so both are repeated for a while. */
async function useRunningOrOpen<Result>(
  { signal }: CliContext,
  { state, use, reach, open }: GatewayAccess<Result>,
): Promise<Result> {
  for (const until = performance.now() + TIMEOUT_MS; ; await delay(RETRY_MS)) {
    signal.throwIfAborted()
    const running = await reach()
    if (running) return use(running, 'running')
    const opened = await open().catch(ignoreIfLocked)
    if (opened) return useAndClose(opened, use)
    if (performance.now() > until) throw notAnsweringError(state)
  }
}

async function useAndClose<Result>({ client, close }: OpenedClient, use: ClientCallback<Result>): Promise<Result> {
  try {
    return await use(client, 'fresh')
  } finally {
    await close()
  }
}

function notAnsweringError(state: string): SallyportError {
  return new SallyportError('GATEWAY_UNREACHABLE', `Another process holds the state ${state}, but does not answer.`, {
    hint: '`sallyport doctor` shows which one. Stop it, or name another state with --state.',
  })
}

async function openLocalGateway(
  context: CliContext,
  flags: GlobalFlags,
  discovery: 'writes' | 'reads',
): Promise<OpenedClient> {
  const { openWithEntryPoints } = await import('./open-with-entry-points.ts')
  const { gateway, close } = await openWithEntryPoints(context, flags, { discovery })
  try {
    await waitUntilKnown(gateway, context.signal)
    return { client: await createLocalClient(gateway), close: () => close('the command ended') }
  } catch (error) {
    await close('the command was stopped')
    throw error
  }
}

/** A server that is not known yet gets all the time that its entry allows: only this command waits. */
async function waitUntilKnown({ fleet, settings }: Gateway, signal: AbortSignal): Promise<void> {
  const timeoutMs = Math.max(0, ...settings.servers.map(({ timeouts }) => timeouts.startup))
  const stop = new AbortController()
  const stopped = delay(timeoutMs, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => {})
  await Promise.race([fleet.waitUntilKnown(timeoutMs), stopped])
  stop.abort()
  signal.throwIfAborted()
}

async function createLocalClient(gateway: Gateway): Promise<GatewayClient> {
  const [{ createApi }, { standingPrincipal }, { createAdminContext }] = await Promise.all([
    import('../../serve/api/api.ts'),
    import('../../sessions/sessions.ts'),
    import('../../compose/entry-points.ts'),
  ])
  const api = createApi(createAdminContext(gateway, () => []))
  return new GatewayClient(createLocalTransport(api, standingPrincipal('operator')))
}

/** For `catch`: returns `undefined` if another process holds the state, and rethrows any other error. */
export function ignoreIfLocked(error: unknown): undefined {
  if (error instanceof SallyportError && error.code === 'STATE_HELD') return undefined
  throw error
}
