import { queryOptions } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'

/** Nobody watches the files of agents: they are read whenever the screen is opened. */
export const foundAgentsQuery = queryOptions({
  queryKey: ['agents', 'found'],
  queryFn: () => read(api['found-agents'].$get()),
  staleTime: 0,
})
