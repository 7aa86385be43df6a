import type { EventView, ServerView, Status } from '../../gateway/src/serve/api/api.ts'

export interface GatewayReport {
  readonly status: Status
  readonly servers: readonly ServerView[]
  readonly events: readonly EventView[]
}

const REQUEST_TIMEOUT_MS = 10_000
const MAX_SHOWN_EVENTS = 50

/** The login is over: only a fresh link helps. */
export class LoggedOutError extends Error {}

export async function fetchReport(): Promise<GatewayReport> {
  const [status, { servers }, { events }] = await Promise.all([
    fetchJson<Status>('/api/status'),
    fetchJson<{ servers: readonly ServerView[] }>('/api/servers'),
    fetchJson<{ events: readonly EventView[] }>(`/api/events?limit=${MAX_SHOWN_EVENTS}`),
  ])
  return { status, servers, events }
}

/** The header shows that this page sent it: no form and no other site can. */
export async function logOut(): Promise<void> {
  await fetch('/logout', { method: 'POST', headers: { 'x-sallyport': '1' } })
}

async function fetchJson<Body>(path: string): Promise<Body> {
  const response = await fetch(path, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
  if (response.status === 401) throw new LoggedOutError()
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `HTTP ${response.status}`)
  return body as Body
}
