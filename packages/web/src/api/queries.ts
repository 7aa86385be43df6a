import { queryOptions } from '@tanstack/react-query'
import { api, read } from './client.ts'

/**
 * What several screens show. The first part of a key is its topic: an event of the gateway refreshes topics
 * (event-topics.ts), so nothing is polled.
 */
export const statusQuery = queryOptions({ queryKey: ['status'], queryFn: () => read(api.status.$get()) })

export const modeQuery = queryOptions({ queryKey: ['mode'], queryFn: () => read(api.mode.$get()) })

export const approvalsQuery = queryOptions({
  queryKey: ['approvals'],
  queryFn: async () => (await read(api.approvals.$get())).approvals,
})

export const serversQuery = queryOptions({
  queryKey: ['servers'],
  queryFn: async () => (await read(api.servers.$get())).servers,
})

export const toolsQuery = queryOptions({
  queryKey: ['tools'],
  queryFn: async () => (await read(api.tools.$get({ query: {} }))).tools,
})

/** Tools whose definition is not the one that was reviewed. */
export const changedToolsQuery = queryOptions({
  queryKey: ['tools', 'changed'],
  queryFn: async () => (await read(api.tools.$get({ query: { pin: 'changed' } }))).tools,
})
