import { once } from 'node:events'
import { SallyportError } from '@sallyport/core'
import type { Doors, Port } from '../doors.ts'
import { bannerOf } from './banner.ts'
import type { CliContext } from './cli-context.ts'
import { findHome } from './find-home.ts'
import { connectTo, refusalIn } from './gateway-connection.ts'
import type { GlobalFlags } from './global-flags.ts'
import { openWithDoors } from './open-with-doors.ts'
import type { ServeFlags } from './serve-command.ts'

type Flags = ServeFlags & GlobalFlags

/** Serves on a port until it is told to stop: as the gateway, or through the one that runs already. */
export async function servePort(context: CliContext, flags: Flags): Promise<void> {
  const opened = await openWithDoors(context, flags, async (doors, gateway) => {
    await doors.openPort(portOf(flags, gateway.settings.gateway))
  }).catch(unlessHeld)
  if (!opened) return joinWithPort(context, flags)
  const { gateway, doors, close } = opened
  const { logins, state, home } = gateway
  const [url = ''] = doors.urls()
  context.process.stdout.write(bannerOf({ url, login: logins.mintLoginCode(), state, home: home.path, flags }))
  await stopped(context.signal)
  await close('it was told to stop')
}

function unlessHeld(error: unknown): undefined {
  if (error instanceof SallyportError && error.code === 'STATE_HELD') return undefined
  throw error
}

function portOf(flags: Flags, settings: { readonly host: string; readonly port: number }): Port {
  return { host: flags.host ?? settings.host, port: flags.port ?? settings.port, noAuth: flags['no-auth'] === true }
}

/** Another window's gateway has the state: it lends us a port for as long as we stay. */
async function joinWithPort(context: CliContext, flags: Flags): Promise<void> {
  const { home, state } = await findHome(context, flags)
  const wanted = portOf(flags, { host: '127.0.0.1', port: 4747 })
  const headers = { 'x-sallyport-port': encodeURIComponent(JSON.stringify(wanted)) }
  const stream = await connectTo('port', { state, home: home.path, headers })
  if (!stream)
    throw new SallyportError('GATEWAY_UNREACHABLE', `A gateway holds the state ${state} and does not answer.`, {
      hint: 'Try again, or stop it.',
    })
  const [answer] = (await once(stream, 'data')) as [Buffer]
  const { url, login, error } = JSON.parse(answer.toString('utf8')) as { url: string; login: string; error?: unknown }
  if (error) throw refusalIn(answer.toString('utf8'))
  context.process.stdout.write(bannerOf({ url, login, state, home: home.path, flags }))
  const lost = once(stream, 'close').then(() => 'lost' as const)
  const ended = await Promise.race([stopped(context.signal).then(() => 'told' as const), lost])
  stream.destroy()
  if (ended === 'lost')
    throw new SallyportError('GATEWAY_UNREACHABLE', 'The gateway that lent this port has ended.', {
      hint: 'Start it again.',
    })
}

/** Serves the windows that join over the socket, and ends a while after the last one left. */
export async function serveBackground(context: CliContext, flags: Flags): Promise<{ readonly done: Promise<void> }> {
  const { gateway, doors, close } = await openWithDoors(context, flags)
  const told = stopped(context.signal).then(() => 'it was told to stop')
  const left = deserted(doors, gateway.settings.gateway.linger)
  return { done: Promise.race([left, told]).then(close) }
}

function deserted(doors: Doors, linger: number): Promise<string> {
  return new Promise((resolve) => {
    doors.whenEmpty(() => setTimeout(() => doors.isEmpty && resolve('the last window left'), linger))
  })
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
