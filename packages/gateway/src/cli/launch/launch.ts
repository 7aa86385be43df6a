import { syncBackChanges, writeOverlay } from '../../agents/agents.ts'
import { stateUnusable } from '../../disk/disk.ts'
import type { CliContext } from '../cli-context.ts'
import type { FoundHome } from '../find-home.ts'
import { withoutTokens } from '../token-variable.ts'
import { runAgent } from './agent-process.ts'
import { type GatewayLease, openGatewayLease } from './gateway-hold.ts'
import type { LaunchPlan } from './launch-plan.ts'
import {
  type LaunchIdentity,
  type LaunchToken,
  mintLaunchToken,
  removeAbandonedRuns,
  revokeLaunchToken,
} from './launch-token.ts'
import { withoutModelKeys } from './model-keys.ts'
import { createRunFolder, type RunFolder, removeRunFolder, writeLaunchToken } from './run-folder.ts'
import { exitCodeFor, SignalForwarder } from './signals.ts'

export interface Launch extends Pick<FoundHome, 'home' | 'state'> {
  readonly context: CliContext
  readonly run: RunFolder
  readonly plan: LaunchPlan
}

/** Runs an agent as planned. Resolves to the agent's exit code. */
export function launch(given: Launch, identity: LaunchIdentity): Promise<number> {
  return withSignals((signals) =>
    given.plan.windows.length === 0
      ? withRunFolder(given, () => startAgent(given, { signals, tokens: [] }))
      : launchWithGateway(given, identity, signals),
  )
}

async function launchWithGateway(given: Launch, identity: LaunchIdentity, signals: SignalForwarder): Promise<number> {
  const { context, home, state } = given
  const environment = withoutModelKeys({ ...context.environment })
  const hold = await openGatewayLease({ state, home, cwd: context.cwd, environment })
  try {
    return await withRunFolder(given, () =>
      withTokens({ ...given, hold }, identity, (tokens) => startAgent(given, { signals, tokens })),
    )
  } finally {
    hold.close()
  }
}

type UseTokens = (tokens: readonly LaunchToken[]) => Promise<number>

/** One for each window, which end with the run, however many were made before something failed. */
async function withTokens(
  { hold, state, run, plan }: Launch & { readonly hold: GatewayLease },
  identity: LaunchIdentity,
  use: UseTokens,
): Promise<number> {
  const tokens: LaunchToken[] = []
  try {
    for (const window of plan.windows) tokens.push(await mintLaunchToken(hold, run, { ...identity, window }))
    return await use(tokens)
  } finally {
    for (const { id } of tokens) await revokeLaunchToken(hold, state, id)
  }
}

async function withSignals(use: (signals: SignalForwarder) => Promise<number>): Promise<number> {
  const signals = new SignalForwarder()
  try {
    return await use(signals)
  } finally {
    signals.close()
  }
}

/** The folder stands before the token does, so that a token is never without a place from which it is swept. */
async function withRunFolder({ state, run }: Launch, use: () => Promise<number>): Promise<number> {
  await removeAbandonedRuns(state)
  createRunFolder(run)
  try {
    return await use()
  } finally {
    removeRunFolder(run)
  }
}

interface StartOptions {
  readonly signals: SignalForwarder
  readonly tokens: readonly LaunchToken[]
}

async function startAgent({ context, run, plan }: Launch, { signals, tokens }: StartOptions): Promise<number> {
  writeRunFiles(run, plan, tokens)
  if (signals.earlySignal) return exitCodeFor(signals.earlySignal)
  // A token of `connect` may give more than this run's profile does.
  const environment = { ...withoutTokens(context.environment), ...plan.environment }
  const { program, args } = plan
  try {
    return await runAgent({ program, args, environment, cwd: context.cwd, signals })
  } finally {
    for (const path of syncBackChanges(plan, run.path))
      context.process.stderr.write(`! The agent wrote ${path}, which could not be kept.\n`)
  }
}

function writeRunFiles(run: RunFolder, plan: LaunchPlan, tokens: readonly LaunchToken[]): void {
  try {
    for (const { window, token } of tokens) writeLaunchToken(run, window, token)
    writeOverlay(plan, run.path)
  } catch (cause) {
    throw stateUnusable(run.path, cause)
  }
}
