import { useState } from 'react'
import { useEvents } from '../../api/use-events.ts'

/** Asks the browser for notifications; while they are allowed, each new waiting call sends one. */
export function NotifyButton() {
  const [permission, setPermission] = useState(() =>
    'Notification' in globalThis ? Notification.permission : 'denied',
  )
  useEvents((events) => {
    if (permission !== 'granted' || !document.hidden) return
    for (const event of events)
      if (event.type === 'APPROVAL_REQUESTED')
        new Notification(`${event.agent} waits for your answer`, { tag: event.approval })
  })
  if (permission !== 'default') return null
  return (
    <button className="btn" type="button" onClick={() => void Notification.requestPermission().then(setPermission)}>
      Notify me in this browser
    </button>
  )
}
