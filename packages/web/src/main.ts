import { createElement, getElement } from './element.ts'
import { createEventLine } from './event-line.ts'
import { fetchReport, type GatewayReport, LoggedOutError, logOut } from './gateway-report.ts'
import { createServerCard } from './server-card.ts'
import { formatSummary } from './summary.ts'

const POLL_INTERVAL_MS = 2_000

const renderedLists = new Map<string, string>()

/** Draws a list anew only when it changed: otherwise nobody could select its text. */
function renderList<Item>(id: string, items: readonly Item[], create: (item: Item) => Node): void {
  const text = JSON.stringify(items)
  if (renderedLists.get(id) === text) return
  renderedLists.set(id, text)
  const nothing = createElement('li', { className: 'nothing', text: 'None yet.' })
  getElement(id).replaceChildren(...(items.length === 0 ? [nothing] : items.map(create)))
}

function renderReport({ status, servers, events }: GatewayReport): void {
  getElement('summary').textContent = formatSummary(status)
  renderList('servers', servers, createServerCard)
  renderList('events', events.toReversed(), createEventLine)
  showWarning(status.warnings.join('\n'))
}

function showWarning(trouble: string): void {
  const place = getElement('trouble')
  place.hidden = trouble === ''
  if (place.textContent !== trouble) place.textContent = trouble
}

let timer: ReturnType<typeof setTimeout> | undefined
let polling = false

/** One round at a time; a hidden page asks for nothing. */
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
