import { useQuery } from '@tanstack/react-query'
import { FileDiff, Inbox, KeyRound, type LucideIcon, Unplug } from 'lucide-react'
import { liveQuery } from '../api/queries.ts'

export interface AttentionItem {
  readonly kind: 'waiting' | 'changed' | 'login' | 'down'
  readonly count: number
  readonly icon: LucideIcon
  readonly tone: 'ask' | 'bad'
  /** The whole sentence, for titles and screen readers. */
  readonly text: string
  readonly to: string
}

/** What needs a person, counted. A counter at zero is left out. */
export function useAttention(): readonly AttentionItem[] {
  const live = useQuery(liveQuery).data
  const {
    approvals: waiting = 0,
    drifted: changed = 0,
    logins: login = 0,
    deadServers: down = 0,
  } = live?.attention ?? {}
  const items: readonly AttentionItem[] = [
    {
      kind: 'waiting',
      count: waiting,
      icon: Inbox,
      tone: 'ask',
      text: `${plural(waiting, 'call waits', 'calls wait')} for approval`,
      to: '/approvals',
    },
    {
      kind: 'changed',
      count: changed,
      icon: FileDiff,
      tone: 'bad',
      text: `${plural(changed, 'definition', 'definitions')} changed after review`,
      to: '/governance?pin=changed',
    },
    {
      kind: 'login',
      count: login,
      icon: KeyRound,
      tone: 'ask',
      text: `${plural(login, 'server needs', 'servers need')} a login`,
      to: '/servers?state=needs-login',
    },
    {
      kind: 'down',
      count: down,
      icon: Unplug,
      tone: 'bad',
      text: `${plural(down, 'server is', 'servers are')} down`,
      to: '/servers?state=down',
    },
  ]
  return items.filter(({ count }) => count > 0)
}

const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
