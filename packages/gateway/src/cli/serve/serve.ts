import { closeSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import { PACKAGE_ROOT } from '../../package-root.ts'
import { AGENT_HEADER } from '../../serve/gateway-socket.ts'
import { toProblem } from '../../serve/problem.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome, resolveState } from '../find-home.ts'
import { connectToGateway, JOIN_RETRY_MS, JOIN_TIMEOUT_MS } from '../gateway/gateway-connection.ts'
import { joinGateway, REPORT_DESCRIPTOR } from '../gateway/join-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { isRunAlive, readLaunchToken } from '../launch/run-folder.ts'
import { readToken, withoutTokens } from '../token-variable.ts'
import type { ServeFlags } from './serve-command.ts'
import { relayStdio } from './stdio-relay.ts'

type Flags = ServeFlags & GlobalFlags

const DEMO_HOME = join(PACKAGE_ROOT, 'demo')
const DEMO_STATE = '.sallyport-demo'
/** For agents that store a server's command line beyond the run: the run folder is in a variable instead. */
const FROM_ENVIRONMENT = 'from-environment'

export async function serve(context: CliContext, given: Flags): Promise<void> {
  // A missing flag is present as `undefined`, so spreading the flags over the defaults would remove the defaults.
  const flags = given.demo ? { ...given, home: given.home ?? DEMO_HOME, state: given.state ?? DEMO_STATE } : given
  if (flags.stdio) return serveStdio(context, flags)
  if (flags.agent !== undefined)
    throw new SallyportError('USAGE', '--agent names the agent of one window.', { hint: 'Use it with --stdio.' })
  const foreground = await import('./serve-ports.ts')
  if (flags.background) return reportStartup(() => foreground.serveBackground(context, flags))
  return foreground.servePort(context, flags)
}

/** Reports to the process that started us in the background whether the start succeeded. */
async function reportStartup(serveUntilEmpty: () => Promise<{ readonly done: Promise<void> }>): Promise<void> {
  const report = (text: string): void => {
    try {
      writeSync(REPORT_DESCRIPTOR, text)
      closeSync(REPORT_DESCRIPTOR)
    } catch {
      // The process that started us has ended. Others may still join; if nobody does, the gateway ends by itself.
    }
  }
  try {
    const { done } = await serveUntilEmpty()
    report('ready')
    await done
  } catch (error) {
    const reported = error instanceof SallyportError ? error : new SallyportError('INTERNAL', String(error))
    report(JSON.stringify(toProblem(reported)))
    throw error
  }
}

async function serveStdio(context: CliContext, flags: Flags): Promise<void> {
  const onLost = (reason: string): void => void context.process.stderr.write(`! ${reason}\n`)
  const join =
    flags.launch === undefined ? await createSharedJoin(context, flags, onLost) : createLaunchJoin(context, flags)
  await relayStdio({ input: process.stdin, output: process.stdout, join, onLost, signal: context.signal })
}

/** For an independent window: the first one starts the gateway. */
async function createSharedJoin(
  context: CliContext,
  flags: Flags,
  onLost: (reason: string) => void,
): Promise<() => Promise<Duplex>> {
  const { home, state } = await findHome(context, flags)
  const token = readToken(context.environment, flags.tokenFrom)
  const environment = withoutTokens(context.environment)
  const onTimeout = (error: SallyportError): void => onLost(error.text)
  const headers = flags.agent === undefined ? {} : { [AGENT_HEADER]: encodeURIComponent(flags.agent) }
  return () => joinGateway('lines', { state, home, token, environment, cwd: context.cwd, onTimeout, headers })
}

/** For a window of a run. The run starts the gateway, because the environment here may contain the model's key. */
function createLaunchJoin(context: CliContext, flags: Flags): () => Promise<Duplex> {
  const state = resolveState(context, flags)
  const folder = flags.launch === FROM_ENVIRONMENT ? (context.environment.SALLYPORT_LAUNCH ?? '') : String(flags.launch)
  return async () => {
    for (const until = performance.now() + JOIN_TIMEOUT_MS; ; await delay(JOIN_RETRY_MS)) {
      const joined = await connectToGateway('lines', { state, token: requireLaunchToken(folder, flags.window) })
      if (joined) return joined
      if (performance.now() > until)
        throw new SallyportError('GATEWAY_UNREACHABLE', `No gateway runs on the state ${state}.`)
    }
  }
}

/** Checked each time: a killed run ends its windows too. */
function requireLaunchToken(folder: string, window: string | undefined): string {
  const token = isRunAlive(folder) ? readLaunchToken(folder, window) : undefined
  if (token !== undefined) return token
  throw new SallyportError('UNAUTHENTICATED', 'The run to which this window belongs is over.')
}
