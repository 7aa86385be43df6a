import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { OfferDetail, ToolDetail } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { DiffView } from '../../parts/diff-view.tsx'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount } from '../../parts/format.ts'
import { Failed, Loaded, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { useToast } from '../../shell/toasts.tsx'

/** A tool, by its canonical name; or a prompt, a resource, a template or instructions. */
export interface ReviewedName {
  readonly kind: 'tool' | 'offer'
  readonly name: string
}

type Detail = ToolDetail | OfferDetail

export const fetchTool = async (name: string): Promise<ToolDetail> =>
  (await read(api.tools[':name'].$get({ param: { name: encodeURIComponent(name) } }))) as ToolDetail

const fetchOffer = async (name: string): Promise<OfferDetail> =>
  (await read(api.offers[':name'].$get({ param: { name: encodeURIComponent(name) } }))) as OfferDetail

const detailQuery = ({ kind, name }: ReviewedName) => ({
  queryKey: [kind === 'tool' ? 'tools' : 'offers', 'detail', name],
  queryFn: (): Promise<Detail> => (kind === 'tool' ? fetchTool(name) : fetchOffer(name)),
})

interface ReviewProps {
  readonly of: ReviewedName
  /** Where its name is said already. */
  readonly title?: string | undefined
}

/** What changed in a definition, or is suspicious in it, and the button with which a person accepts what was shown. */
export function DefinitionReview({ of, title }: ReviewProps) {
  return (
    <Loaded query={useQuery(detailQuery(of))} what={`the definition of ${of.name.slice(0, 100)}`}>
      {(detail) => <Review key={detail.review.now} of={of} title={title} detail={detail} />}
    </Loaded>
  )
}

/** More lines than this are folded, and have to be opened before they can be accepted. */
const MAX_SHOWN = 200

function Review({ of, title, detail }: ReviewProps & { readonly detail: Detail }) {
  const { pin, openFindings, review, definition } = detail
  const [isOpen, open] = useState(false)
  const isChanged = pin === 'changed'
  const parts = isChanged ? review.changes : [{ part: 'definition', lines: toDefinitionLines(definition) }]
  const count = parts.reduce((sum, { lines }) => sum + lines.length, 0)
  const isFolded = count > MAX_SHOWN && !isOpen
  if (!isChanged && openFindings.length === 0) return null
  return (
    <section className="panel" aria-label={`Review of ${of.name}`}>
      <header>
        <h2 className="grow cut">
          {title ?? <ForeignName name={'tool' in detail ? `${detail.server}/${detail.tool}` : detail.name} />}
        </h2>
        {isChanged && <span className="tag tag-bad">changed</span>}
        {openFindings.length > 0 && <span className="tag tag-ask">suspicious</span>}
      </header>
      <div className="pad stack">
        <p>
          {isChanged
            ? 'Its server changed this definition after it was reviewed. Agents still see the old one, and calls are refused, until somebody accepts the new one.'
            : 'Each call asks a person, until somebody accepts what was found.'}
        </p>
        {openFindings.length > 0 && (
          <ul className="findings" aria-label="What is suspicious">
            {openFindings.map((finding) => (
              <li key={finding}>
                <Note kind="ask">
                  <ForeignText text={finding} limit={1_000} />
                </Note>
              </li>
            ))}
          </ul>
        )}
        {isChanged && review.reviewed === undefined && (
          <Note>The old definition was not stored, so all of the new one is shown.</Note>
        )}
        {isFolded ? (
          <button className="btn" type="button" onClick={() => open(true)}>
            Show {formatCount(count, 'line')}
          </button>
        ) : (
          parts.map(({ part, lines }) => (
            <div key={part} className="stack-s">
              <h3>{part}</h3>
              <DiffView title={isChanged ? `Change of ${part}` : part} lines={lines} wraps />
            </div>
          ))
        )}
        <Acceptance of={of} detail={detail} isFolded={isFolded} />
      </div>
    </section>
  )
}

interface AcceptanceProps {
  readonly of: ReviewedName
  readonly detail: Detail
  readonly isFolded: boolean
}

function Acceptance({ of: { kind, name }, detail: { review, pin, openFindings }, isFolded }: AcceptanceProps) {
  const [isAsking, ask] = useState(false)
  const mayAccept = useMay('operator')
  const client = useQueryClient()
  const toast = useToast()
  const accept = useMutation({
    mutationFn: async () => {
      const sent = { param: { name: encodeURIComponent(name) }, json: { pin: review.now, via: 'web' as const } }
      if (kind === 'tool') await read(api.tools[':name'].accept.$post(sent))
      else await read(api.offers[':name'].accept.$post(sent))
    },
    onSuccess: () => toast('Accepted. It is in force.'),
    // After a refusal too: the definition may have changed again.
    onSettled: () => Promise.all(['tools', 'offers'].map((topic) => client.invalidateQueries({ queryKey: [topic] }))),
  })
  if (!mayAccept) return <p className="small muted">An operator can accept it.</p>
  const what = [pin === 'changed' && 'the new definition', openFindings.length > 0 && 'what was found']
  const object = what.filter((part) => part !== false).join(' and ')
  return (
    <div className="stack-s">
      {accept.error && <Failed error={accept.error} />}
      <div className="actions">
        {isAsking ? (
          <>
            <button
              className="btn btn-primary"
              type="button"
              disabled={accept.isPending}
              onClick={() => accept.mutate()}
            >
              {accept.isPending ? 'Accepting…' : 'I have read it: accept'}
            </button>
            <button className="btn btn-ghost" type="button" onClick={() => ask(false)}>
              Cancel
            </button>
          </>
        ) : (
          <button className="btn" type="button" disabled={isFolded} onClick={() => ask(true)}>
            Accept {object}…
          </button>
        )}
        <span className="small muted">
          {isFolded ? (
            'Show all lines first.'
          ) : isAsking ? (
            'It is recorded with your name, and exactly this is accepted.'
          ) : (
            <Pins review={review} />
          )}
        </span>
      </div>
    </div>
  )
}

const Pins = ({ review: { pin, now } }: Pick<Detail, 'review'>) => (
  <code>
    {pin === undefined || pin === now ? '' : `${shortPin(pin)} → `}
    {shortPin(now)}
  </code>
)

/** `sha256-3f9c0a1b`: enough to compare by eye. */
const shortPin = (pin: string): string => pin.slice(0, 15)

export const toDefinitionLines = (definition: unknown) =>
  JSON.stringify(definition, undefined, 2)
    .split('\n')
    .map((text, index) => ({ mark: ' ' as const, text, line: index + 1 }))
