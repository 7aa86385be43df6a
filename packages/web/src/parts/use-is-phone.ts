import { useSyncExternalStore } from 'react'

const PHONE = matchMedia('(max-width: 760px)')

export const useIsPhone = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      PHONE.addEventListener('change', listener)
      return () => PHONE.removeEventListener('change', listener)
    },
    () => PHONE.matches,
  )
