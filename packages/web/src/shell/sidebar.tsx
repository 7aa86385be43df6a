import { useQuery } from '@tanstack/react-query'
import { Contrast, LogOut } from 'lucide-react'
import { Link, NavLink } from 'react-router'
import { logOut } from '../api/client.ts'
import { statusQuery } from '../api/queries.ts'
import { Brand } from '../parts/signs.tsx'
import { addressOf, SCREENS, type Screen } from '../screens/screens.ts'
import type { AttentionItem } from './attention.ts'
import { toggleTheme } from './theme.ts'

const GROUPS = ['Work', 'Rules', 'Gateway'] as const

interface SidebarProps {
  readonly attention: readonly AttentionItem[]
  readonly onKeys: () => void
}

export function Sidebar({ attention, onKeys }: SidebarProps) {
  const status = useQuery(statusQuery).data
  return (
    <aside className="side">
      <Link className="brand" to="/">
        <Brand />
        Sallyport
      </Link>
      {GROUPS.map((group) => (
        <nav key={group} className="nav" aria-label={group}>
          {group !== 'Work' && <p className="nav-title">{group}</p>}
          {SCREENS.filter(({ nav }) => nav?.group === group).map((screen) => (
            <NavItem key={screen.path} screen={screen} attention={attention} />
          ))}
        </nav>
      ))}
      <div className="side-foot">
        <span className="line">
          <button className="btn btn-ghost btn-s" type="button" onClick={onKeys}>
            <kbd>?</kbd> Keys
          </button>
          <button className="btn btn-ghost btn-s" type="button" onClick={toggleTheme}>
            <Contrast className="i i-s" aria-hidden="true" /> Theme
          </button>
          <button className="btn btn-ghost btn-s" type="button" title="Log out" onClick={() => void logOut()}>
            <LogOut className="i i-s" aria-hidden="true" />
            <span className="vh">Log out</span>
          </button>
        </span>
        {status && (
          <span className="cut" title={status.home.path}>
            {status.version} · {status.home.path}
          </span>
        )}
      </div>
    </aside>
  )
}

interface NavItemProps {
  readonly screen: Screen
  readonly attention: readonly AttentionItem[]
}

export function NavItem({ screen, attention }: NavItemProps) {
  const address = addressOf(screen)
  const Icon = screen.nav?.icon
  const items = attention.filter(({ to }) => address !== '/' && to.startsWith(address))
  const count = items.reduce((sum, item) => sum + item.count, 0)
  const tone = items.some((item) => item.tone === 'bad') ? 'bad' : 'ask'
  return (
    <NavLink to={address} end={address === '/'}>
      {Icon && <Icon className="i" aria-hidden="true" />}
      <span>{screen.nav?.title}</span>
      {count > 0 && (
        <span className={`n n-${tone}`}>
          <span className="vh">{items.map(({ text }) => text).join(', ')}: </span>
          {count}
        </span>
      )}
    </NavLink>
  )
}
