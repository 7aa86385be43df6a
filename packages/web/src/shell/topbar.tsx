import { Search } from 'lucide-react'
import { Link } from 'react-router'
import { useStreamState } from '../api/use-events.ts'
import { Brand } from '../parts/signs.tsx'
import type { AttentionItem } from './attention.ts'
import { ModeMenu } from './mode-menu.tsx'
import { MOD_KEY } from './shortcuts.ts'

interface TopbarProps {
  readonly attention: readonly AttentionItem[]
  readonly onPalette: () => void
}

/** The same on every screen: search, what needs a person, and the mode. */
export const Topbar = ({ attention, onPalette }: TopbarProps) => (
  <header className="head">
    <Link className="brand head-brand" to="/" aria-label="Sallyport, overview">
      <Brand />
    </Link>
    <button className="find" type="button" onClick={onPalette}>
      <Search className="i" aria-hidden="true" />
      <span>Search or run a command</span>
      <kbd>{MOD_KEY} K</kbd>
    </button>
    <nav className="attention" aria-label="What needs you">
      {attention.map(({ kind, count, icon: Icon, tone, text, to }) => (
        <Link key={kind} className={`is-${tone}`} to={to} title={text}>
          <Icon className="i" aria-hidden="true" />
          <b>{count}</b> <span>{kind}</span>
          <span className="vh">: {text}</span>
        </Link>
      ))}
    </nav>
    <StreamSign />
    <ModeMenu />
  </header>
)

/** Only while the page may show something old. */
function StreamSign() {
  const state = useStreamState()
  if (state !== 'lost') return null
  return (
    <span className="tag tag-bad" role="status">
      No connection, trying again
    </span>
  )
}
