import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { useNavigate } from 'react-router'
import { toolsQuery } from '../api/queries.ts'
import { Dialog } from '../parts/dialog.tsx'
import { KeyCaps } from './keys-help.tsx'
import { findEntries, type PaletteEntry, usePaletteEntries } from './palette-entries.ts'

interface PaletteProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onKeys: () => void
}

/** Screens, tools and commands by typing. */
export const Palette = ({ isOpen, onClose, onKeys }: PaletteProps) => (
  <Dialog title="Command palette" kind="palette" isOpen={isOpen} onClose={onClose}>
    <PaletteBody onClose={onClose} onKeys={onKeys} />
  </Dialog>
)

function PaletteBody({ onClose, onKeys }: Pick<PaletteProps, 'onClose' | 'onKeys'>) {
  const [text, setText] = useState('')
  const [selected, select] = useState(0)
  const navigate = useNavigate()
  const tools = useQuery(toolsQuery).data ?? []
  const found = findEntries(usePaletteEntries({ navigate, onKeys }), { text, tools, navigate })
  const run = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) select((selected + step + found.length) % Math.max(found.length, 1))
    else if (event.key === 'Enter') run(found[selected])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${selected}` : undefined}
        aria-label="Search screens, tools and commands"
        placeholder="Search screens, tools, commands"
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          select(0)
        }}
        onKeyDown={onKeyDown}
      />
      <PaletteList found={found} selected={selected} onRun={run} />
      <footer>
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> move
        </span>
        <span>
          <kbd>↵</kbd> open
        </span>
        <span>
          <kbd>esc</kbd> close
        </span>
      </footer>
    </>
  )
}

interface PaletteListProps {
  readonly found: readonly PaletteEntry[]
  readonly selected: number
  readonly onRun: (entry: PaletteEntry) => void
}

const PaletteList = ({ found, selected, onRun }: PaletteListProps) => (
  <div id="palette-list" className="palette-list" role="listbox" aria-label="Results">
    {found.length === 0 && <p className="pop-note">Nothing found.</p>}
    {found.map((entry, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the combobox, which keeps the focus.
      <div
        key={entry.id}
        id={`palette-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === selected}
        ref={(element) => {
          if (index === selected) element?.scrollIntoView({ block: 'nearest' })
        }}
        onClick={() => onRun(entry)}
      >
        <entry.icon className="i" aria-hidden="true" />
        <span className="grow cut">{entry.title}</span>
        <span className="small faint">{entry.note}</span>
        {entry.keys !== undefined && <KeyCaps keys={entry.keys} />}
      </div>
    ))}
  </div>
)
