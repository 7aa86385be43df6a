import { useState } from 'react'
import { formatCount } from './format.ts'
import { revealText, type TextPiece } from './reveal-text.ts'

interface ForeignTextProps {
  readonly text: string
  /** Shows this many characters and a button for the rest. */
  readonly limit?: number | undefined
  readonly onOpen?: (() => void) | undefined
}

/**
 * Text of servers, models and agents: never markup, and every character that a reader could not see is shown by its
 * number. Use it for whatever did not come from the gateway itself.
 */
export function ForeignText({ text, limit, onOpen }: ForeignTextProps) {
  const [isOpen, setOpen] = useState(false)
  const isCut = !isOpen && limit !== undefined && text.length > limit
  const shown = isCut ? text.slice(0, limit) : text
  return (
    <>
      <bdi>{revealText(shown).map(renderPiece)}</bdi>
      {isCut && (
        <button
          className="fold"
          type="button"
          onClick={() => {
            setOpen(true)
            onOpen?.()
          }}
        >
          {' '}
          … show all {formatCount(text.length, 'character')}
        </button>
      )}
    </>
  )
}

function renderPiece(piece: TextPiece, index: number) {
  if (piece.kind === 'plain') return piece.text
  const title = piece.kind === 'hidden' ? 'A character that cannot be seen' : 'Looks like a Latin letter and is not one'
  return (
    <span key={index} className="u" title={`${title}: ${piece.code}`}>
      {piece.kind === 'hidden' ? piece.code : `${piece.text} ${piece.code}`}
    </span>
  )
}

const MAX_NAME = 120

interface ForeignNameProps {
  readonly name: string
  readonly className?: string
  /** It is cut where there is no room, and not broken. */
  readonly oneLine?: boolean
}

/** A name such as `server/tool`: breaks after `/` and `_`, and a very long one is cut in the middle of nowhere. */
export function ForeignName({ name, className = '', oneLine = false }: ForeignNameProps) {
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
  const parts = shown.split(/(?<=[/_])/)
  return (
    <code className={className} title={name.length > MAX_NAME ? `${formatCount(name.length, 'character')}` : undefined}>
      <bdi>
        {parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their position.
          <span key={index}>
            {revealText(part).map(renderPiece)}
            {index < parts.length - 1 && !oneLine && <wbr />}
          </span>
        ))}
      </bdi>
    </code>
  )
}
