import type { EventId, EventStore, JSONRPCMessage, StreamId } from '@modelcontextprotocol/server'

interface LoggedEvent {
  readonly stream: StreamId
  readonly message: JSONRPCMessage
}

/** What the streams of one session sent, for a client that comes back to one of them. */
export class EventLog implements EventStore {
  readonly #events: LoggedEvent[] = []

  async storeEvent(stream: StreamId, message: JSONRPCMessage): Promise<EventId> {
    return String(this.#events.push({ stream, message }))
  }

  async replayEventsAfter(
    last: EventId,
    { send }: { send: (id: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const from = Number(last)
    const stream = this.#events[from - 1]?.stream ?? ''
    // The first event of a stream is empty: it only gives the client an id to come back with.
    for (const [at, event] of this.#events.entries())
      if (at >= from && event.stream === stream && 'jsonrpc' in event.message) await send(String(at + 1), event.message)
    return stream
  }
}
