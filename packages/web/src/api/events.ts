import type { EventView } from '../../../gateway/src/serve/api/api.ts'

/** The router describes events only as objects; in fact they are the union that the gateway records. */
export const toEvents = (events: readonly unknown[]): readonly EventView[] => events as readonly EventView[]
