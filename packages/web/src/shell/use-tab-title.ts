import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { modeQuery } from '../api/queries.ts'
import type { AttentionItem } from './attention.ts'

/** `(2) Approvals · Sallyport`, so that a waiting call is seen in another tab; LOCKDOWN comes first. */
export function useTabTitle(attention: readonly AttentionItem[]): void {
  const [screen, setScreen] = useState('')
  const mode = useQuery(modeQuery).data?.mode
  const waiting = attention.find(({ kind }) => kind === 'waiting')?.count ?? 0
  useEffect(() => {
    const update = (event: Event): void => setScreen((event as CustomEvent<string>).detail)
    document.addEventListener('screen-title', update)
    // The first screen was shown before this listened.
    setScreen(document.documentElement.dataset.screen ?? '')
    return () => document.removeEventListener('screen-title', update)
  }, [])
  useEffect(() => {
    const name = screen === '' ? 'Sallyport' : `${screen} · Sallyport`
    document.title = `${mode === 'LOCKDOWN' ? '■ LOCKDOWN · ' : ''}${waiting > 0 ? `(${waiting}) ` : ''}${name}`
  }, [screen, mode, waiting])
}
