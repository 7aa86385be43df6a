import type { DiffLine } from './diff-lines.ts'
import { revealText } from './reveal-text.ts'

const SIGNS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', add: '+', del: '−', gap: ' ' }

/** A change of a file. `title` names the file for screen readers, since the region can be scrolled. */
export function DiffView({ lines, title }: { readonly lines: readonly DiffLine[]; readonly title: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
    <section className="code" aria-label={title} tabIndex={0}>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their position.
        <span key={index} className={line.kind === 'gap' ? 'hunk' : line.kind}>
          <span className="ln">{line.line ?? ''}</span>
          <span className="vh">{line.kind === 'add' ? 'added: ' : line.kind === 'del' ? 'removed: ' : ''}</span>
          {SIGNS[line.kind]}{' '}
          {revealText(line.text).map((piece, at) =>
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
      ))}
    </section>
  )
}

/** The change of a file as the API describes it: lines removed and added at one place. */
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
    ...removed.map((text, index): DiffLine => ({ kind: 'del', text, line: line + index })),
    ...added.map((text, index): DiffLine => ({ kind: 'add', text, line: line + index })),
  ]
}
