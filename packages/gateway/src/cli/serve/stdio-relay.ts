import type { Duplex, Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import { PendingRequests } from '../gateway/pending-requests.ts'
import { PacedOutput } from './paced-output.ts'

export interface RelayOptions {
  readonly input: Readable
  readonly output: Writable
  /** Joins the gateway, starting one if none runs. */
  readonly join: () => Promise<Duplex>
  readonly onLost: (reason: string) => void
  /** Ends the relay at once. */
  readonly signal: AbortSignal
}

/** How often in a row a gateway may be lost right after it was joined. */
const MAX_LOSSES = 5
const STABLE_AFTER_MS = 10_000
const REJOIN_TIMEOUT_MS = 300_000
const REJOIN_RETRY_MS = 1_000
/** How long to wait for remaining answers after the agent closed its input: the agent may be dead. */
const SHUTDOWN_TIMEOUT_MS = 10_000

/**
 * Relays lines between an agent's stdio and the gateway that all windows share.
 *
 * The agent's connection survives the loss of a gateway: in-flight requests are answered with an error, and the
 * handshake is sent again to the next gateway. The agent notices nothing else.
 */
export async function relayStdio({ input, output, join, onLost, signal }: RelayOptions): Promise<void> {
  const pending = new PendingRequests()
  const ended = waitForEnd(input, output)
  let inputOpen = true
  void ended.then(() => {
    inputOpen = false
  })
  input.pause()
  let losses = 0
  for (let socket = await join(); ; socket = await rejoin({ join, onLost, signal })) {
    socket.on('error', () => socket.destroy())
    const joinedAt = performance.now()
    if (pending.handshake.length > 0) await pending.repeatHandshake(socket, output)
    await relayUntilClosed({ input, output, socket, pending, ended, signal })
    if (!inputOpen || signal.aborted) return void input.destroy()
    for (const line of pending.failPending()) output.write(line)
    losses = performance.now() - joinedAt > STABLE_AFTER_MS ? 1 : losses + 1
    if (losses > MAX_LOSSES)
      throw new SallyportError('GATEWAY_UNREACHABLE', `The gateway was lost ${losses} times in a row.`)
    onLost('The gateway ended; joining again.')
    await delay(50 * 2 ** losses)
  }
}

/**
 * The reason that the next gateway cannot start may be temporary: a full disk, or a config file that is being edited.
 */
async function rejoin({ join, onLost, signal }: Pick<RelayOptions, 'join' | 'onLost' | 'signal'>): Promise<Duplex> {
  for (const until = performance.now() + REJOIN_TIMEOUT_MS; ; await delay(REJOIN_RETRY_MS)) {
    try {
      return await join()
    } catch (error) {
      if (!(error instanceof SallyportError) || performance.now() > until || signal.aborted) throw error
      // A revoked token never becomes valid again.
      if (error.code === 'UNAUTHENTICATED') throw error
      onLost(`The gateway cannot be joined yet: ${error.text}`)
    }
  }
}

/** Resolves when the agent has closed its input or no longer reads the output. */
function waitForEnd(input: Readable, output: Writable): Promise<void> {
  return new Promise((resolve) => {
    input.once('end', resolve).once('close', resolve)
    output.on('error', () => resolve())
  })
}

interface RelayConnection {
  readonly input: Readable
  readonly output: Writable
  readonly socket: Duplex
  readonly pending: PendingRequests
  readonly ended: Promise<void>
  readonly signal: AbortSignal
}

/** Relays until this gateway is gone. After the agent closes its input, the remaining answers are still delivered. */
async function relayUntilClosed({ input, output, socket, pending, ended, signal }: RelayConnection): Promise<void> {
  const gone = new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', resolve)))
  const leave = (): void => void socket.destroy()
  const onInput = (chunk: Buffer): void => {
    pending.onSent(chunk)
    if (!socket.write(chunk)) input.pause()
  }
  const paced = new PacedOutput({ output, onBusy: () => socket.pause(), onReady: () => socket.resume() })
  const onOutput = (chunk: Buffer): void => {
    pending.onReceived(chunk)
    paced.write(chunk)
  }
  socket.on('drain', () => input.resume())
  socket.on('data', onOutput)
  input.on('data', onInput)
  signal.addEventListener('abort', leave, { once: true })
  // The gateway treats a closed connection as the end of the agent, so it is closed only after the last answer.
  void ended.then(() => {
    const shutdownTimer = setTimeout(leave, SHUTDOWN_TIMEOUT_MS).unref()
    pending.whenAnswered(() => {
      clearTimeout(shutdownTimer)
      socket.end()
    })
  })
  if (pending.unfinished.length > 0) socket.write(pending.unfinished)
  input.resume()
  // Repeating the handshake has paused the socket; adding a listener does not resume it.
  socket.resume()
  await gone
  signal.removeEventListener('abort', leave)
  input.off('data', onInput)
  paced.end()
  input.pause()
}
