import type { EventView, ServerView, Status } from '../../gateway/src/serve/api/api.ts'

interface ElementOptions {
  readonly className?: string
  /** Always set as text, never as HTML: much of the content comes from untrusted servers. */
  readonly text?: string
  readonly children?: readonly Node[]
}

function createElement<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  { className, text, children = [] }: ElementOptions = {},
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  if (className !== undefined) element.className = className
  if (text !== undefined) element.textContent = text
  element.append(...children)
  return element
}

/** An element of index.html. */
function getElement(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`The page has no element ${id}.`)
  return element
}

const POLL_INTERVAL_MS = 2_000

const renderedLists = new Map<string, string>()

/** Renders a list only if it changed: otherwise nobody could select its text. */
function renderList<Item>(id: string, items: readonly Item[], create: (item: Item) => Node): void {
  const text = JSON.stringify(items)
  if (renderedLists.get(id) === text) return
  renderedLists.set(id, text)
  const placeholder = createElement('li', { className: 'empty', text: 'None yet.' })
  getElement(id).replaceChildren(...(items.length === 0 ? [placeholder] : items.map(create)))
}

function renderReport({ status, servers, events }: GatewayReport): void {
  getElement('summary').textContent = formatSummary(status)
  renderList('servers', servers, createServerCard)
  renderList('events', events.toReversed(), createEventLine)
  showWarning(status.warnings.join('\n'))
}

function showWarning(warning: string): void {
  const element = getElement('warning')
  element.hidden = warning === ''
  if (element.textContent !== warning) element.textContent = warning
}

let timer: ReturnType<typeof setTimeout> | undefined
let polling = false

/** One request at a time; a hidden page does not poll. */
async function poll(): Promise<void> {
  clearTimeout(timer)
  if (polling || document.hidden) return
  polling = true
  try {
    renderReport(await fetchReport())
  } catch (error) {
    if (error instanceof LoggedOutError) return location.reload()
    showWarning(
      `The gateway does not answer (${error instanceof Error ? error.message : String(error)}). Trying again…`,
    )
  } finally {
    polling = false
  }
  timer = setTimeout(() => void poll(), POLL_INTERVAL_MS)
}

document.addEventListener('visibilitychange', () => void poll())
getElement('log-out').addEventListener('click', () => void logOut().finally(() => location.reload()))
void poll()

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

function formatSummary({ version, uptimeMs, servers, tools, sessions, callsInFlight }: Status): string {
  const states = Object.entries(servers).map(([state, count]) => `${count} ${state}`)
  const parts = [
    `version ${version}`,
    `up ${formatDuration(uptimeMs)}`,
    `servers: ${states.join(', ')}`,
    `${tools} tools`,
    `${sessions} sessions`,
    `${callsInFlight} calls in flight`,
  ]
  return parts.join(' · ')
}

function formatDuration(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => milliseconds >= length) ?? ['s', 1_000]
  return `${Math.floor(milliseconds / size)} ${unit}`
}

/** The fields of an event that are shown, in this order. */
const SHOWN_FIELDS = [
  'tool_name',
  'server',
  'instance',
  'agent',
  'reason',
  'error',
  'message',
  'latency_ms',
  'call_id',
] as const

const ERROR_TYPES = new Set([
  'TOOL_CALL_FAILED',
  'POLICY_DENIED',
  'UPSTREAM_LOST',
  'UPSTREAM_UNHEALTHY',
  'UPSTREAM_NEEDS_LOGIN',
  'CONFIG_REJECTED',
  'CREDENTIALS_REFUSED',
])

function createEventLine(event: EventView): HTMLElement {
  const fields: Readonly<Record<string, unknown>> = event
  const details = SHOWN_FIELDS.filter((field) => fields[field] !== undefined)
    .map((field) => (field === 'latency_ms' ? `${fields[field]} ms` : String(fields[field])))
    .join(' · ')
  const time = createElement('time', { text: new Date(event.time).toLocaleTimeString() })
  time.dateTime = event.time
  const type = createElement('span', { className: 'type', text: event.type.toLowerCase().replaceAll('_', ' ') })
  const what = createElement('span', { className: 'what', text: details })
  return createElement('li', { className: ERROR_TYPES.has(event.type) ? 'bad' : '', children: [time, type, what] })
}

interface GatewayReport {
  readonly status: Status
  readonly servers: readonly ServerView[]
  readonly events: readonly EventView[]
}

const REQUEST_TIMEOUT_MS = 10_000
const MAX_SHOWN_EVENTS = 50

/** The login has ended: the user needs a new login link. */
class LoggedOutError extends Error {}

async function fetchReport(): Promise<GatewayReport> {
  const [status, { servers }, { events }] = await Promise.all([
    fetchJson<Status>('/api/status'),
    fetchJson<{ servers: readonly ServerView[] }>('/api/servers'),
    fetchJson<{ events: readonly EventView[] }>(`/api/events?limit=${MAX_SHOWN_EVENTS}`),
  ])
  return { status, servers, events }
}

/** The header proves that this page sent the request: forms and other sites cannot set it. */
async function logOut(): Promise<void> {
  await fetch('/logout', { method: 'POST', headers: { 'x-sallyport': '1' } })
}

async function fetchJson<Body>(path: string): Promise<Body> {
  const response = await fetch(path, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
  if (response.status === 401) throw new LoggedOutError()
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `HTTP ${response.status}`)
  return body as Body
}

/** Servers whose messages are expanded: rendering the list again must not collapse them. */
const openMessages = new Set<string>()

function createServerCard(server: ServerView): HTMLElement {
  const { id, kind, state, reason, messages, counterpart } = server
  const title = createElement('h3', { text: server.config.title ?? id })
  const badge = createElement('span', { className: `state ${state}`, text: state })
  const children: Node[] = [
    createElement('div', { className: 'title', children: [title, badge] }),
    createElement('p', {
      className: 'facts',
      text: `${kind} · ${formatCounts(server)} · since ${formatTime(server.since)}`,
    }),
  ]
  if (reason !== undefined) children.push(createElement('p', { className: 'reason', text: reason }))
  if (counterpart !== undefined)
    children.push(createElement('p', { className: 'facts', text: formatCounterpart(counterpart) }))
  if (messages.length > 0) children.push(createMessages(id, messages))
  return createElement('li', { className: 'card', children })
}

function formatCounterpart({ state, reason, missing, differing }: NonNullable<ServerView['counterpart']>): string {
  const drift = missing.length + differing.length
  return ['isolated instance', state, ...(reason ? [reason] : []), ...(drift > 0 ? [`${drift} other tools`] : [])].join(
    ' · ',
  )
}

function formatCounts({ tools, resources, prompts, restarts }: ServerView): string {
  const counts = [`${tools} tools`, `${resources} resources`, `${prompts} prompts`]
  return [...counts, ...(restarts > 0 ? [`${restarts} restarts`] : [])].join(' · ')
}

function createMessages(id: string, messages: readonly string[]): HTMLElement {
  const details = createElement('details', {
    children: [
      createElement('summary', { text: 'Last messages' }),
      createElement('pre', { text: messages.join('\n') }),
    ],
  })
  details.open = openMessages.has(id)
  details.addEventListener('toggle', () => (details.open ? openMessages.add(id) : openMessages.delete(id)))
  return details
}

const formatTime = (time: number): string => new Date(time).toLocaleString()
