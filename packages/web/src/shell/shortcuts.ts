import { useEffect, useEffectEvent } from 'react'

export interface Shortcut {
  /** What `KeyboardEvent.key` says, or two of them after each other: `g a`. `mod+k` is Ctrl, or Command on a Mac. */
  readonly keys: string
  readonly title: string
  readonly run: () => void
}

const SEQUENCE_MS = 1_000
const active = new Set<Shortcut>()
let first: { readonly key: string; readonly at: number } | undefined

/** What can be typed now, for the list of keys; of several for one key the newest counts. */
export const activeShortcuts = (): readonly Shortcut[] => [
  ...new Map([...active].map((shortcut) => [shortcut.keys, shortcut])).values(),
]

/** Adds keys while the component is shown. They rest while somebody types, or while a dialog is open. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const run = useEffectEvent((keys: string) => shortcuts.find((shortcut) => shortcut.keys === keys)?.run())
  const names = shortcuts.map(({ keys, title }) => `${keys}\n${title}`).join('\t')
  useEffect(() => {
    const added = names === '' ? [] : names.split('\t').map((entry) => toShortcut(entry, run))
    for (const shortcut of added) active.add(shortcut)
    return () => {
      for (const shortcut of added) active.delete(shortcut)
    }
  }, [names])
}

function toShortcut(entry: string, run: (keys: string) => void): Shortcut {
  const [keys = '', title = ''] = entry.split('\n')
  return { keys, title, run: () => run(keys) }
}

export function listenToKeys(): () => void {
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return
  const isMod = event.metaKey || event.ctrlKey
  if (!isMod && (isTyping(event.target) || document.querySelector('[role="dialog"]') !== null)) return
  const key = isMod ? `mod+${event.key.toLowerCase()}` : event.key
  const sequence = first !== undefined && Date.now() - first.at < SEQUENCE_MS ? `${first.key} ${key}` : key
  first = isMod ? undefined : { key, at: Date.now() }
  const shortcuts = activeShortcuts()
  const found = shortcuts.find(({ keys }) => keys === sequence) ?? shortcuts.find(({ keys }) => keys === key)
  // The second key of an unfinished sequence is not a command of its own.
  if (found === undefined || (sequence !== key && found.keys !== sequence && isPrefix(sequence, shortcuts))) return
  if (found.keys === sequence) first = undefined
  event.preventDefault()
  found.run()
}

const isPrefix = (sequence: string, shortcuts: readonly Shortcut[]): boolean =>
  shortcuts.some(({ keys }) => keys.startsWith(`${sequence.split(' ')[0]} `))

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName)
}

/** `⌘` on a Mac, `Ctrl` elsewhere. */
export const MOD_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'
