import { carryBack, writeOverlay } from '../../agents/agents.ts'
import { stateUnusable } from '../../disk/disk.ts'
import type { CliContext } from '../cli-context.ts'
import { createSocketExchange } from '../exchange.ts'
import type { FoundHome } from '../find-home.ts'
import { GatewayClient } from '../gateway-client.ts'
import { runAgent } from './agent-process.ts'
import { openGatewayHold } from './gateway-hold.ts'
import type { LaunchPlan } from './launch-plan.ts'
import { endLaunchToken, type LaunchIdentity, mintLaunchToken, sweepRuns } from './launch-token.ts'
import { withoutModelKeys } from './model-keys.ts'
import { makeRunFolder, type RunFolder, removeRunFolder, writeLaunchToken } from './run-folder.ts'
import { exitCodeFor, SignalPassing } from './signals.ts'

export interface Launch extends Pick<FoundHome, 'home' | 'state'> {
  readonly context: CliContext
  readonly run: RunFolder
  readonly plan: LaunchPlan
}

/** Runs an agent with the gateway as its only server. Resolves to the agent's exit code. */
export async function launchGoverned(launch: Launch, identity: LaunchIdentity): Promise<number> {
  const { context, home, state, run } = launch
  const environment = withoutModelKeys({ ...context.environment })
  return withSignals(async (signals) => {
    const hold = await openGatewayHold({ state, home, cwd: context.cwd, environment })
    try {
      return await inFolder(launch, async () => {
        const client = new GatewayClient(createSocketExchange({ state, home: home.path }))
        const { id, token } = await mintLaunchToken(client, run, identity)
        try {
          await hold.bind(id)
          return await start(launch, { signals, token })
        } finally {
          await endLaunchToken(client, state, id)
        }
      })
    } finally {
      hold.close()
    }
  })
}

/** Runs an agent with servers of its own. No gateway is needed for that. */
export function launchNative(launch: Launch): Promise<number> {
  return withSignals((signals) => inFolder(launch, () => start(launch, { signals })))
}

async function withSignals(use: (signals: SignalPassing) => Promise<number>): Promise<number> {
  const signals = new SignalPassing()
  try {
    return await use(signals)
  } finally {
    signals.close()
  }
}

/** The folder stands before the token does, so that a token is never without a place from which it is swept. */
async function inFolder({ state, run }: Launch, use: () => Promise<number>): Promise<number> {
  await sweepRuns(state)
  makeRunFolder(run)
  try {
    return await use()
  } finally {
    removeRunFolder(run)
  }
}

interface Start {
  readonly signals: SignalPassing
  readonly token?: string
}

async function start({ context, run, plan }: Launch, { signals, token }: Start): Promise<number> {
  writeRun(run, plan, token)
  if (signals.early) return exitCodeFor(signals.early)
  // A token of `connect` may give more than this run's profile does.
  const environment = { ...context.environment, SALLYPORT_TOKEN: undefined, ...plan.environment }
  const { program, args } = plan
  try {
    return await runAgent({ program, args, environment, cwd: context.cwd, signals })
  } finally {
    for (const path of carryBack(plan, run.path))
      context.process.stderr.write(`! The agent wrote ${path}, which could not be kept.\n`)
  }
}

function writeRun(run: RunFolder, plan: LaunchPlan, token: string | undefined): void {
  try {
    if (token !== undefined) writeLaunchToken(run, token)
    writeOverlay(plan, run.path)
  } catch (cause) {
    throw stateUnusable(run.path, cause)
  }
}
