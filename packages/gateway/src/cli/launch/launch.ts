import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentAdapter, writeOverlay } from '../../agents/agents.ts'
import { stateUnusable } from '../../disk/disk.ts'
import type { CliContext } from '../cli-context.ts'
import { createSocketExchange } from '../exchange.ts'
import { findHome } from '../find-home.ts'
import { GatewayClient } from '../gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { LAUNCH_TOKEN_FILE } from '../launch-token-file.ts'
import { runAgent } from './agent-process.ts'
import { type GatewayHold, openGatewayHold } from './gateway-hold.ts'
import { type LaunchPlan, planLaunch } from './launch-plan.ts'
import { endLaunchToken, type LaunchIdentity, mintLaunchToken, sweepRuns } from './launch-token.ts'
import { withoutModelKeys } from './model-keys.ts'
import { placeOf } from './place.ts'
import { makeRunFolder, nameRunFolder, type RunFolder, removeRunFolder } from './run-folder.ts'
import { exitCodeFor, SignalPassing } from './signals.ts'

export interface LaunchWish extends Omit<LaunchIdentity, 'agent'> {
  readonly adapter: AgentAdapter
  readonly args: readonly string[]
}

/** Runs an agent with the gateway as its only server. Resolves to the agent's exit code. */
export async function launch(context: CliContext, flags: GlobalFlags, wish: LaunchWish): Promise<number> {
  const { home, state } = await findHome(context, flags)
  const run = nameRunFolder(state)
  const plan = await planLaunch({ ...wish, place: placeOf(context), folder: run.path, state })
  for (const note of plan.notes) context.process.stderr.write(`! ${note}\n`)
  const signals = new SignalPassing()
  const environment = withoutModelKeys({ ...context.environment })
  const hold = await openGatewayHold({ state, home, cwd: context.cwd, environment }).catch((error: unknown) => {
    signals.close()
    throw error
  })
  try {
    const client = new GatewayClient(createSocketExchange({ state, home: home.path }))
    await sweepRuns(state)
    return await runWithin({ context, wish, state, run, plan, signals, hold, client })
  } finally {
    hold.close()
    signals.close()
  }
}

interface Within {
  readonly context: CliContext
  readonly wish: LaunchWish
  readonly state: string
  readonly run: RunFolder
  readonly plan: LaunchPlan
  readonly signals: SignalPassing
  readonly hold: GatewayHold
  readonly client: GatewayClient
}

/** The folder stands before the token does, so that a token is never without a place from which it is swept. */
async function runWithin({ context, wish, state, run, plan, signals, hold, client }: Within): Promise<number> {
  makeRunFolder(run)
  let minted: string | undefined
  try {
    const { id, token } = await mintLaunchToken(client, run, { ...wish, agent: wish.adapter.id })
    minted = id
    await hold.bind(id)
    writeRun(run, plan, token)
    if (signals.early) return exitCodeFor(signals.early)
    const environment = { ...context.environment, ...plan.environment }
    const { program, args } = plan
    return await runAgent({ program, args, environment, cwd: context.cwd, signals })
  } finally {
    if (minted !== undefined) await endLaunchToken(client, state, minted)
    removeRunFolder(run)
  }
}

function writeRun({ path }: RunFolder, plan: LaunchPlan, token: string): void {
  try {
    writeFileSync(join(path, LAUNCH_TOKEN_FILE), `${token}\n`, { mode: 0o600, flag: 'wx' })
    writeOverlay(plan, path)
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}
