import { queryOptions } from '@tanstack/react-query'
import type { ApprovalView } from '../../../gateway/src/serve/api/api.ts'
import { api, read } from './client.ts'
import type { LiveState } from './event-stream.ts'

/**
 * What several screens show. The first part of a key is its topic: an event of the gateway refreshes topics
 * (event-topics.ts), so nothing is polled.
 */
export const statusQuery = queryOptions({ queryKey: ['status'], queryFn: () => read(api.status.$get()) })

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: () => read(api.me.$get()) })

/** The mode and what needs a person: the event stream writes it whenever it changes. */
export const liveQuery = queryOptions({
  queryKey: ['live'],
  queryFn: (): Promise<LiveState> => read(api.overview.$get({ query: {} })),
})

export const modeQuery = queryOptions({ queryKey: ['mode'], queryFn: () => read(api.mode.$get()) })

export const approvalsQuery = queryOptions({
  queryKey: ['approvals'],
  queryFn: async () => (await read(api.approvals.$get())).approvals as readonly ApprovalView[],
})

export const serversQuery = queryOptions({
  queryKey: ['servers'],
  queryFn: async () => (await read(api.servers.$get())).servers,
})

const fetchAgents = async () => (await read(api.agents.$get())).agents

export type Agent = Awaited<ReturnType<typeof fetchAgents>>[number]

export const agentsQuery = queryOptions({ queryKey: ['agents'], queryFn: fetchAgents })

export const toolsQuery = queryOptions({
  queryKey: ['tools'],
  queryFn: async () => (await read(api.tools.$get({ query: {} }))).tools,
})
