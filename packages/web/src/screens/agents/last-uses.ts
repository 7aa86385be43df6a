import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { useEvents } from '../../api/use-events.ts'

type Uses = ReadonlyMap<string, number>

const usesQuery = (agent: string) =>
  queryOptions({
    queryKey: ['uses', agent],
    queryFn: async (): Promise<Uses | null> => {
      const { uses } = await read(api.agents[':agent'].uses.$get({ param: { agent: encodeURIComponent(agent) } }))
      return uses === undefined ? null : new Map(uses.map(({ tool, time }) => [tool, Date.parse(time)]))
    },
    staleTime: 0,
  })

/** When the agent last called each tool, by its canonical name; `undefined` if that is not known. */
export function useLastUses(agent: string): Uses | undefined {
  const client = useQueryClient()
  useEvents((events) => {
    const calls = events.filter((event) => event.type === 'TOOL_CALL_STARTED' && event.agent === agent)
    if (calls.length === 0) return
    client.setQueryData(usesQuery(agent).queryKey, (known) => {
      if (known == null) return known
      const next = new Map(known)
      for (const call of calls) if (call.type === 'TOOL_CALL_STARTED') next.set(call.tool_name, Date.parse(call.time))
      return next
    })
  })
  return useQuery(usesQuery(agent)).data ?? undefined
}
