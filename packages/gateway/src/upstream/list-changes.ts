import type { Opening } from './handshake.ts'
import type { Link } from './link.ts'

/** The longest time a Node timer can wait: a listening request ends only with its connection. */
const FOREVER = 2 ** 31 - 1
const REOPEN_AFTER = 5_000

const FAMILIES: readonly (readonly [capability: string, filter: string])[] = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
]

/** A modern server tells of changed lists only to those who listen; this keeps one such request open while the link lives. */
export function listenForChanges(link: Link, opening: Opening, isCurrent: () => boolean): void {
  const wanted = FAMILIES.filter(([capability]) => opening.capabilities[capability] !== undefined)
  if (wanted.length === 0) return
  const notifications = Object.fromEntries(wanted.map(([, filter]) => [filter, true]))
  const ended = (): void => {
    if (isCurrent()) setTimeout(() => isCurrent() && listen(), REOPEN_AFTER).unref()
  }
  const listen = (): void => {
    link
      .request({ method: 'subscriptions/listen', params: { notifications }, timeout: FOREVER, maximum: FOREVER })
      .then((frame) => frame.envelope.error === undefined && ended(), ended)
  }
  listen()
}
