import { SallyportError } from '@sallyport/core'
import { locateKeys } from '../../config/config.ts'
import type { Check } from '../checks/check.ts'
import { checkHome, checkTools } from '../checks/home-checks.ts'
import { checkMachine } from '../checks/machine-checks.ts'
import { printChecks } from '../checks/print-checks.ts'
import { checkNeededSandboxes } from '../checks/sandbox-checks.ts'
import { checkCallerKeys, checkPort, checkServers } from '../checks/server-checks.ts'
import { checkMode, checkState } from '../checks/state-checks.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { resolveState } from '../find-home.ts'
import { findRunningGateway } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../terminal/screen.ts'

const EXIT_DIFFERENCES = 6

export const doctorCommand = defineCommand<object>({
  brief: 'Check this machine, the home and the state, and show how to fix what is wrong',
  description: 'No server is started. Exits with 6 when something is wrong.',
  examples: [
    ['doctor', 'Check everything'],
    ['doctor --home ./try', 'Check another home'],
    ['doctor --json', 'The same for a program'],
  ],
  flags: {},
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const checks = await runChecks(context, flags)
    if (screen.json) screen.printJson({ ok: checks.every(({ level }) => level !== 'wrong'), checks })
    else printChecks(screen, checks)
    if (checks.some(({ level }) => level === 'wrong')) context.process.exitCode = EXIT_DIFFERENCES
  },
})

async function runChecks(context: CliContext, flags: GlobalFlags): Promise<readonly Check[]> {
  const { environment } = context
  const machine = checkMachine({ nodeVersion: process.versions.node, platform: process.platform, environment })
  const { checks, path, tools, settings } = await checkHome(context, flags)
  const state = resolveState(context, flags)
  const gateway = await findRunningGateway(state)
  const status = await gateway?.status().catch(ignoreIfUnreachable)
  const running = status && (await gateway?.mode())
  const otherHome = status && path !== undefined && status.home.path !== path ? status.home.path : undefined
  const file = status && otherHome === undefined ? await gateway?.toolsFile() : undefined
  // The content of a home that cannot be read is not known.
  const isUnread = file === undefined && tools === undefined && settings === undefined
  const stateChecks = [
    ...(isUnread ? [] : checkTools({ tools, running: file })),
    ...(await checkState({ state, running: status !== undefined, otherHome })),
    checkMode({ state, running }),
  ]
  if (settings === undefined) return [...machine, ...checks, ...stateChecks]
  const { host, port } = settings.gateway
  const portCheck = await checkPort({ host, port, ours: status?.urls ?? [] })
  const { servers } = settings
  const folder = locateKeys({ environment, cwd: context.cwd })
  const keyChecks = checkCallerKeys({ servers, folder, notInside: path === undefined ? [state] : [state, path] })
  const sandboxChecks = await checkNeededSandboxes(servers, environment)
  const serverChecks = checkServers(servers, environment)
  return [...machine, ...checks, ...stateChecks, portCheck, ...keyChecks, ...sandboxChecks, ...serverChecks]
}

/** A gateway that does not answer is a finding of the check, not a failure of it. */
function ignoreIfUnreachable(error: unknown): undefined {
  if (!(error instanceof SallyportError) || error.code !== 'GATEWAY_UNREACHABLE') throw error
}
