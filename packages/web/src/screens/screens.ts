import {
  Activity,
  Blocks,
  ChartNoAxesCombined,
  FileCheck2,
  House,
  Inbox,
  type LucideIcon,
  Server,
  Settings,
  ShieldEllipsis,
} from 'lucide-react'
import type { ComponentType } from 'react'

export interface Screen {
  readonly path: string
  /** Loads the code of the screen when somebody opens it. */
  readonly load: () => Promise<{ readonly Component: ComponentType }>
  /** For the side bar and the palette; a screen without it is reached from other screens. */
  readonly nav?: ScreenNav
}

export interface ScreenNav {
  readonly title: string
  readonly icon: LucideIcon
  readonly group: 'Work' | 'Rules' | 'Gateway'
  /** The key after `g` that opens it. */
  readonly key: string
  /** In the tab bar of phones. */
  readonly isTab?: boolean
}

/** Every screen of the page. To add one, see the README. */
export const SCREENS: readonly Screen[] = [
  {
    path: '/',
    load: async () => ({ Component: (await import('./overview/overview.tsx')).Overview }),
    nav: { title: 'Overview', icon: House, group: 'Work', key: 'o', isTab: true },
  },
  {
    path: '/approvals/:id?',
    load: async () => ({ Component: (await import('./approvals/approvals.tsx')).Approvals }),
    nav: { title: 'Approvals', icon: Inbox, group: 'Work', key: 'a', isTab: true },
  },
  {
    path: '/live',
    load: async () => ({ Component: (await import('./live/live.tsx')).Live }),
    nav: { title: 'Live', icon: Activity, group: 'Work', key: 'l', isTab: true },
  },
  { path: '/calls/:id', load: async () => ({ Component: (await import('./call/call.tsx')).Call }) },
  {
    path: '/sessions/:name?',
    load: async () => ({ Component: (await import('./sessions/sessions.tsx')).Sessions }),
    nav: { title: 'Sessions', icon: ShieldEllipsis, group: 'Work', key: 's' },
  },
  {
    path: '/agents/:profile?',
    load: async () => ({ Component: (await import('./agents/agents.tsx')).Agents }),
    nav: { title: 'Agents and tools', icon: Blocks, group: 'Rules', key: 't' },
  },
  {
    path: '/governance/:name?',
    load: async () => ({ Component: (await import('./governance/governance.tsx')).Governance }),
    nav: { title: 'Governance', icon: FileCheck2, group: 'Rules', key: 'r' },
  },
  {
    path: '/servers/:id?',
    load: async () => ({ Component: (await import('./servers/servers.tsx')).Servers }),
    nav: { title: 'Servers', icon: Server, group: 'Gateway', key: 'v' },
  },
  { path: '/start', load: async () => ({ Component: (await import('./start/start.tsx')).Start }) },
  {
    path: '/savings',
    load: async () => ({ Component: (await import('./savings/savings.tsx')).Savings }),
    nav: { title: 'Savings', icon: ChartNoAxesCombined, group: 'Gateway', key: 'k' },
  },
  {
    path: '/settings/mcp/:agent?',
    load: async () => ({ Component: (await import('./mcp-settings/mcp-settings.tsx')).McpSettings }),
    nav: { title: 'MCP settings', icon: Settings, group: 'Gateway', key: 'm' },
  },
]

/** The address of a screen without its parameters. */
export const addressOf = ({ path }: Screen): string => path.replace(/\/:.*$/, '') || '/'
