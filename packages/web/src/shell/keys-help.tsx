import { Dialog } from '../parts/dialog.tsx'
import { activeShortcuts, MOD_KEY } from './shortcuts.ts'

/** The keys that work on this screen now. */
export const KeysHelp = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) => (
  <Dialog title="Keys" isOpen={isOpen} onClose={onClose}>
    <ul className="keys">
      {isOpen &&
        [...activeShortcuts(), { keys: 'Esc', title: 'Close what is on top' }].map(({ keys, title }) => (
          <li key={keys}>
            {title}
            <KeyCaps keys={keys} />
          </li>
        ))}
    </ul>
  </Dialog>
)

export const KeyCaps = ({ keys }: { readonly keys: string }) => (
  <span>
    {keys.split(/[ +]/).map((key) => (
      <kbd key={key}>{key === 'mod' ? MOD_KEY : key}</kbd>
    ))}
  </span>
)
