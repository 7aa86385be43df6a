import { createElement, elementOf } from './element.ts'
import { createEventLine } from './event-line.ts'
import { fetchReport, type GatewayReport, LoggedOut, logOut } from './gateway-report.ts'
import { createServerCard } from './server-card.ts'
import { summaryOf } from './summary.ts'

const POLL_EVERY = 2_000

const drawn = new Map<string, string>()

/** Draws a list anew only when it changed: otherwise nobody could select its text. */
function draw<Item>(id: string, items: readonly Item[], create: (item: Item) => Node): void {
  const text = JSON.stringify(items)
  if (drawn.get(id) === text) return
  drawn.set(id, text)
  const nothing = createElement('li', { className: 'nothing', text: 'None yet.' })
  elementOf(id).replaceChildren(...(items.length === 0 ? [nothing] : items.map(create)))
}

function show({ status, servers, events }: GatewayReport): void {
  elementOf('summary').textContent = summaryOf(status)
  draw('servers', servers, createServerCard)
  draw('events', events.toReversed(), createEventLine)
  tell(status.warnings.join('\n'))
}

function tell(trouble: string): void {
  const place = elementOf('trouble')
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
    show(await fetchReport())
  } catch (error) {
    if (error instanceof LoggedOut) return location.reload()
    tell(`The gateway does not answer (${error instanceof Error ? error.message : String(error)}). Trying again…`)
  } finally {
    polling = false
  }
  timer = setTimeout(() => void poll(), POLL_EVERY)
}

document.addEventListener('visibilitychange', () => void poll())
elementOf('log-out').addEventListener('click', () => void logOut().finally(() => location.reload()))
void poll()
