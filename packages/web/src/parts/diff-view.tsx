import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import type { ToolsFilePreview } from '../../../gateway/src/serve/api/api.ts'
import { revealText } from './reveal-text.ts'

export type DiffLine = ToolsFilePreview['diff'][number]

const SIGNS: Readonly<Record<DiffLine['mark'], string>> = { ' ': ' ', '+': '+', '-': '−', '…': ' ' }
const CLASSES: Readonly<Record<DiffLine['mark'], string>> = { ' ': 'same', '+': 'add', '-': 'del', '…': 'hunk' }
/** From here on only the lines in view exist. */
const MAX_PLAIN = 400
const LINE_HEIGHT = 20

interface DiffViewProps {
  readonly lines: readonly DiffLine[]
  /** Names the file for screen readers, since the region can be scrolled. */
  readonly title: string
  /** Prose: long lines are not cut. */
  readonly wraps?: boolean
}

/** A change of a file. */
export function DiffView({ lines, title, wraps = false }: DiffViewProps) {
  if (lines.length > MAX_PLAIN) return <LongDiff lines={lines} title={title} />
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
    <section className={`code ${wraps ? 'soft' : ''}`} aria-label={title} tabIndex={0}>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their position.
        <Line key={index} line={line} />
      ))}
    </section>
  )
}

function LongDiff({ lines, title }: DiffViewProps) {
  const scroller = useRef<HTMLElement>(null)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
    <section ref={scroller} className="code code-long" aria-label={title} tabIndex={0}>
      <div className="virtual" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => (
          <div key={key} className="code-line" style={{ transform: `translateY(${start}px)` }}>
            <Line line={lines[index] as DiffLine} />
          </div>
        ))}
      </div>
    </section>
  )
}

const Line = ({ line: { mark, text, line } }: { readonly line: DiffLine }) => (
  <span className={CLASSES[mark]}>
    <span className="ln">{line ?? ''}</span>
    <span className="vh">{mark === '+' ? 'added: ' : mark === '-' ? 'removed: ' : ''}</span>
    {SIGNS[mark]}{' '}
    {revealText(text).map((piece, at) =>
      piece.kind === 'plain' ? (
        piece.text
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their position.
        <span key={at} className="u">
          {piece.code}
        </span>
      ),
    )}
  </span>
)

/** The change of a file as an approval describes it: lines removed and added at one place. */
export function toDiffLines({
  line,
  removed,
  added,
}: {
  readonly line: number
  readonly removed: readonly string[]
  readonly added: readonly string[]
}): readonly DiffLine[] {
  return [
    ...removed.map((text, index): DiffLine => ({ mark: '-', text, line: line + index })),
    ...added.map((text, index): DiffLine => ({ mark: '+', text, line: line + index })),
  ]
}
