import { useQuery } from '@tanstack/react-query'
import type { SessionLimits, SessionView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'

/** What the label of a session blocks; with `sensitivity`, what a higher one would. */
export const useSessionLimits = (
  { session, user }: Pick<SessionView, 'session' | 'user'>,
  sensitivity?: SessionLimits['sensitivity'],
) =>
  useQuery({
    queryKey: ['sessions', session, user, 'limits', sensitivity],
    queryFn: () => read(api.sessions.limits.$get({ query: { session, user, ...(sensitivity && { sensitivity }) } })),
  })
