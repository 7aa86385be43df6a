import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { Connection } from '../protocol/protocol.ts'
import type { MemoryEndpoint } from './endpoint.ts'

/** Carries messages to a server of the kit in the same process, each as it would cross a wire. */
export class MemoryTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  readonly #endpoint: MemoryEndpoint
  #connection: Connection | undefined

  constructor(endpoint: MemoryEndpoint) {
    this.#endpoint = endpoint
  }

  async start(): Promise<void> {
    const { server, identity } = this.#endpoint
    this.#connection ??= server.connect(
      (message) => {
        const copy = JSON.parse(JSON.stringify(message))
        queueMicrotask(() => this.onmessage?.(copy))
      },
      identity === undefined ? {} : { identity },
    )
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#connection?.receive(JSON.parse(JSON.stringify(message)))
  }

  async close(): Promise<void> {
    this.#connection?.close()
    this.#connection = undefined
    this.onclose?.()
  }
}
