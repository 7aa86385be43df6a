import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import type { EventView } from '../../../gateway/src/serve/api/api.ts'
import { eventStream, type StreamState } from './event-stream.ts'

/** Calls the listener with each batch of new events while the component is shown. */
export function useEvents(listener: (events: readonly EventView[], omitted: number) => void): void {
  const onEvents = useEffectEvent(listener)
  useEffect(() => eventStream.listen({ onEvents: (events, omitted) => onEvents(events, omitted) }), [])
}

export const useStreamState = (): StreamState =>
  useSyncExternalStore(
    (listener) => eventStream.onState(listener),
    () => eventStream.state,
  )
