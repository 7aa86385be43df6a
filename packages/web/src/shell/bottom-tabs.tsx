import { Ellipsis } from 'lucide-react'
import { SCREENS } from '../screens/screens.ts'
import type { AttentionItem } from './attention.ts'
import { NavItem } from './sidebar.tsx'

interface BottomTabsProps {
  readonly attention: readonly AttentionItem[]
  readonly onMore: () => void
}

/** The navigation of phones; what does not fit is in the palette. */
export const BottomTabs = ({ attention, onMore }: BottomTabsProps) => (
  <nav className="tabs-phone" aria-label="Screens">
    {SCREENS.filter(({ nav }) => nav?.isTab).map((screen) => (
      <NavItem key={screen.path} screen={screen} attention={attention} />
    ))}
    <button type="button" onClick={onMore}>
      <Ellipsis className="i" aria-hidden="true" />
      More
    </button>
  </nav>
)
