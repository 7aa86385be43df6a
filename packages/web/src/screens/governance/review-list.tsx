import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { formatNumber } from '../../parts/format.ts'
import { Empty } from '../../parts/states.tsx'
import { DefinitionReview, type ReviewedName } from './definition-review.tsx'
import { needsReview, offersQuery } from './rules.ts'

/** How many are read at once: each is a request. */
const PAGE = 10

/** Definitions that changed or are suspicious, one below the other. */
export function ReviewList({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [limit, setLimit] = useState(PAGE)
  const names = useReviewedNames(tools)
  if (names.length === 0)
    return (
      <Empty title="Nothing to review" command="sallyport tools check">
        Every definition is the one that was reviewed, and nothing suspicious is open. To check that in CI:
      </Empty>
    )
  return (
    <div className="stack">
      {names.slice(0, limit).map((name) => (
        <DefinitionReview key={name.name} of={name} />
      ))}
      {names.length > limit && (
        <button className="btn" type="button" onClick={() => setLimit(limit + PAGE)}>
          Show more of {formatNumber(names.length - limit)}
        </button>
      )}
    </div>
  )
}

/** Changed ones first: their calls are refused. */
export function useReviewedNames(tools: readonly RuledTool[]): readonly ReviewedName[] {
  const { data: offers = [] } = useQuery(offersQuery)
  const all = [
    ...tools.map(({ canonical: name, pin, openFindings }) => ({ kind: 'tool' as const, name, pin, openFindings })),
    ...offers.map(({ name, pin, openFindings }) => ({
      ...{ kind: 'offer' as const, name, pin },
      openFindings: openFindings.length,
    })),
  ]
  return all.filter(needsReview).toSorted((a, b) => Number(b.pin === 'changed') - Number(a.pin === 'changed'))
}
