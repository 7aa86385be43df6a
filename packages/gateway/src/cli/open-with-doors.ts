import { EntryPoints } from '../doors.ts'
import type { Gateway } from '../gateway.ts'
import type { CliContext } from './cli-context.ts'
import type { GlobalFlags } from './global-flags.ts'
import { type OpenOptions, openHome } from './open-home.ts'
import { reportBug } from './print-error.ts'

export interface OpenGateway {
  readonly gateway: Gateway
  readonly entryPoints: EntryPoints
  close(reason: string): Promise<void>
}

export interface EntryPointsOptions extends Pick<OpenOptions, 'discovery' | 'onNotice' | 'startServers'> {
  readonly onOpen?: (doors: EntryPoints, gateway: Gateway) => Promise<void>
}

/** Opens the gateway of a home in this process, with its socket, so that other windows can join it. */
export async function openWithEntryPoints(
  context: CliContext,
  flags: GlobalFlags,
  { onOpen, ...options }: EntryPointsOptions = {},
): Promise<OpenGateway> {
  const opened: { doors?: EntryPoints } = {}
  const open = async (gateway: Gateway): Promise<void> => {
    const doors = new EntryPoints(gateway, reportBug)
    await doors.openSocket()
    opened.doors = doors
    await onOpen?.(doors, gateway).catch(async (error: unknown) => {
      await doors.close()
      throw error
    })
  }
  const { gateway, close } = await openHome(context, flags, { ...options, onOpen: open })
  const entryPoints = opened.doors as EntryPoints
  return {
    gateway,
    entryPoints,
    close: async (reason) => {
      // The gateway answers what is under way while the doors let nobody in any more. The state is given up last.
      await Promise.all([entryPoints.close(), gateway.close(reason)])
      await close(reason)
    },
  }
}
