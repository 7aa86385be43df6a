import { Suspense, useEffect, useState } from 'react'
import { Outlet, useLocation, useNavigate } from 'react-router'
import { Loading } from '../parts/states.tsx'
import { addressOf, SCREENS } from '../screens/screens.ts'
import { useAttention } from './attention.ts'
import { BottomTabs } from './bottom-tabs.tsx'
import { KeysHelp } from './keys-help.tsx'
import { LockdownBand } from './lockdown-band.tsx'
import { Palette } from './palette.tsx'
import { listenToKeys, useShortcuts } from './shortcuts.ts'
import { Sidebar } from './sidebar.tsx'
import { Topbar } from './topbar.tsx'
import { useTabTitle } from './use-tab-title.ts'

type Overlay = 'palette' | 'keys' | undefined

/** What is around every screen. */
export function Shell() {
  const attention = useAttention()
  const [overlay, open] = useState<Overlay>()
  const navigate = useNavigate()
  const { pathname } = useLocation()
  useTabTitle(attention)
  useEffect(listenToKeys, [])
  useShortcuts([
    { keys: 'mod+k', title: 'Search or run a command', run: () => open('palette') },
    { keys: '?', title: 'These keys', run: () => open('keys') },
    ...SCREENS.flatMap((screen) =>
      screen.nav
        ? [
            {
              keys: `g ${screen.nav.key}`,
              title: `Go to ${screen.nav.title}`,
              run: () => void navigate(addressOf(screen)),
            },
          ]
        : [],
    ),
  ])
  const close = (): void => open(undefined)
  return (
    <>
      <a className="skip btn" href="#main">
        Skip to the content
      </a>
      <LockdownBand />
      <Sidebar attention={attention} onKeys={() => open('keys')} />
      <Topbar attention={attention} onPalette={() => open('palette')} />
      <main id="main" tabIndex={-1}>
        <Suspense key={pathname.split('/')[1]} fallback={<Loading what="the screen" />}>
          <Outlet />
        </Suspense>
      </main>
      <BottomTabs attention={attention} onMore={() => open('palette')} />
      <Palette isOpen={overlay === 'palette'} onClose={close} onKeys={() => open('keys')} />
      <KeysHelp isOpen={overlay === 'keys'} onClose={close} />
    </>
  )
}
