import type { OutgoingCall } from './outgoing-call.ts'

/** Servers rarely work longer than this on a call that was given up. */
const LINGER_MS = 60_000

/** Calls that nobody waits for. The server may still work on them, and send messages about them. */
export class GivenUpCalls {
  /** By sender, until when. `undefined`: senders that cannot be told apart. */
  readonly #until = new Map<string | undefined, number>()

  add(call: OutgoingCall): void {
    this.#until.set(formatSender(call), performance.now() + LINGER_MS)
  }

  /** Whether a message can only be for the sender of these calls: all of them, and those given up, are its own. */
  haveOneSenderWith(calls: readonly OutgoingCall[]): boolean {
    const now = performance.now()
    for (const [sender, until] of this.#until) if (until <= now) this.#until.delete(sender)
    if (calls.length === 1 && this.#until.size === 0) return true
    const senders = new Set([...this.#until.keys(), ...calls.map(formatSender)])
    return senders.size === 1 && !senders.has(undefined)
  }
}

/** The conversation, and how its messages are treated; `undefined` for a call that belongs to no conversation. */
function formatSender({ session, client, isQuarantined, mayTellSecrets }: OutgoingCall): string | undefined {
  if (client?.conversation === undefined) return undefined
  return JSON.stringify([session, client.conversation, isQuarantined === true, mayTellSecrets === true])
}
