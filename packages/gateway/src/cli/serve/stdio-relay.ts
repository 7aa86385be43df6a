import type { Duplex, Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import { PendingRequests } from '../gateway/pending-requests.ts'

export interface RelayOptions {
  readonly input: Readable
  readonly output: Writable
  /** Joins the gateway, starting one if none runs. */
  readonly join: () => Promise<Duplex>
  readonly onLost: (reason: string) => void
  /** Ends it at once. */
  readonly signal: AbortSignal
}

/** So often in a row may a gateway be lost right after it was joined. */
const MAX_LOSSES = 5
const STABLE_AFTER_MS = 10_000
const REJOIN_TIMEOUT_MS = 300_000
const REJOIN_RETRY_MS = 1_000
/** How long an agent that said all it has to say may wait for the rest of its answers: it may be dead. */
const SHUTDOWN_TIMEOUT_MS = 10_000

/**
 * Carries lines between an agent's stdio and the gateway that all windows share.
 *
 * The agent's connection survives the gateway's: what was under way is answered with an error, the handshake is said
 * again to the next gateway, and the agent need not notice more than that.
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
    onLost('The gateway went away; joining it again.')
    await delay(50 * 2 ** losses)
  }
}

/** What keeps the next gateway from starting may pass: a full disk, a configuration in the middle of an edit. */
async function rejoin({ join, onLost, signal }: Pick<RelayOptions, 'join' | 'onLost' | 'signal'>): Promise<Duplex> {
  for (const until = performance.now() + REJOIN_TIMEOUT_MS; ; await delay(REJOIN_RETRY_MS)) {
    try {
      return await join()
    } catch (error) {
      if (!(error instanceof SallyportError) || performance.now() > until || signal.aborted) throw error
      // A token that was revoked never counts again.
      if (error.code === 'UNAUTHENTICATED') throw error
      onLost(`The gateway cannot be joined yet: ${error.text}`)
    }
  }
}

/** The agent has said all it has to say, or no longer listens. */
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

/** Until this gateway is gone. When the agent has said all it has to say, the rest of the answers still comes. */
async function relayUntilClosed({ input, output, socket, pending, ended, signal }: RelayConnection): Promise<void> {
  const gone = new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', resolve)))
  const leave = (): void => void socket.destroy()
  const onInput = (chunk: Buffer): void => {
    pending.onSent(chunk)
    if (!socket.write(chunk)) input.pause()
  }
  const onOutput = (chunk: Buffer): void => {
    pending.onReceived(chunk)
    if (!output.write(chunk)) socket.pause()
  }
  const resumeSocket = (): void => void socket.resume()
  socket.on('drain', () => input.resume())
  output.on('drain', resumeSocket)
  socket.on('data', onOutput)
  input.on('data', onInput)
  signal.addEventListener('abort', leave, { once: true })
  // The gateway takes the end of the line for the end of the agent: a dead one looks no different.
  void ended.then(() => {
    const impatience = setTimeout(leave, SHUTDOWN_TIMEOUT_MS).unref()
    pending.whenAnswered(() => {
      clearTimeout(impatience)
      socket.end()
    })
  })
  if (pending.unfinished.length > 0) socket.write(pending.unfinished)
  input.resume()
  // Who greeted the gateway again has stopped the flow; a listener alone does not start it.
  socket.resume()
  await gone
  signal.removeEventListener('abort', leave)
  input.off('data', onInput)
  output.off('drain', resumeSocket)
  input.pause()
}
