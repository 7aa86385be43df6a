import type { ServerView } from '../../gateway/src/serve/api/api.ts'
import { createElement } from './element.ts'

/** Which servers' messages are open: the list is drawn anew, and must not close what somebody reads. */
const openMessages = new Set<string>()

export function createServerCard(server: ServerView): HTMLElement {
  const { id, kind, state, reason, messages } = server
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
  if (messages.length > 0) children.push(createMessages(id, messages))
  return createElement('li', { className: 'card', children })
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

const formatTime = (moment: number): string => new Date(moment).toLocaleString()
