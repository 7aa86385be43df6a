import { Contrast, DoorClosedLocked, Keyboard, LogOut, type LucideIcon, Wrench } from 'lucide-react'
import type { ToolView } from '../../../gateway/src/serve/api/api.ts'
import { logOut } from '../api/client.ts'
import { addressOf, SCREENS } from '../screens/screens.ts'
import { usePanic } from './mode-change.ts'
import { toggleTheme } from './theme.ts'

export interface PaletteEntry {
  readonly id: string
  readonly title: string
  readonly icon: LucideIcon
  readonly note?: string
  readonly keys?: string
  readonly run: () => void
}

type Navigate = (to: string) => unknown

const MAX_TOOLS = 20

/** Screens and commands; tools come with the search. */
export function usePaletteEntries({
  navigate,
  onKeys,
}: {
  readonly navigate: Navigate
  readonly onKeys: () => void
}): readonly PaletteEntry[] {
  const panic = usePanic()
  const screens = SCREENS.flatMap((screen): readonly PaletteEntry[] => {
    if (screen.nav === undefined) return []
    const { title, icon, key } = screen.nav
    return [{ id: screen.path, title, icon, keys: `g ${key}`, run: () => navigate(addressOf(screen)) }]
  })
  return [
    ...screens,
    { id: 'panic', title: 'Panic: LOCKDOWN now', icon: DoorClosedLocked, run: () => panic.mutate() },
    { id: 'theme', title: 'Switch between light and dark', icon: Contrast, run: toggleTheme },
    { id: 'keys', title: 'Show the keys', icon: Keyboard, keys: '?', run: onKeys },
    { id: 'log-out', title: 'Log out', icon: LogOut, run: () => void logOut() },
  ]
}

interface Search {
  readonly text: string
  readonly tools: readonly ToolView[]
  readonly navigate: Navigate
}

/** Every word has to occur, in any order. */
export function findEntries(
  entries: readonly PaletteEntry[],
  { text, tools, navigate }: Search,
): readonly PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return entries
  const matches = (title: string): boolean => words.every((word) => title.toLowerCase().includes(word))
  const found = tools.filter(({ server, tool }) => matches(`${server}/${tool}`)).slice(0, MAX_TOOLS)
  return [
    ...entries.filter(({ title }) => matches(title)),
    ...found.map(
      ({ canonical, server, tool, risk }): PaletteEntry => ({
        id: `tool ${canonical}`,
        title: `${server}/${tool}`.slice(0, 200),
        icon: Wrench,
        note: `${risk} risk`,
        run: () => navigate(`/governance/${encodeURIComponent(canonical)}`),
      }),
    ),
  ]
}
