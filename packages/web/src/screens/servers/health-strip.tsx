import { queryOptions } from '@tanstack/react-query'
import type { ServerHealth } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'

export const healthQuery = (id: string) =>
  queryOptions({
    queryKey: ['health', id],
    queryFn: () => read(api.servers[':id'].health.$get({ param: { id: encodeURIComponent(id) }, query: {} })),
  })

const [WIDTH, HEIGHT] = [480, 22]
/** Shorter times would not be seen. */
const MIN_WIDTH = 2

type Span = ServerHealth['spans'][number]

/** What is worse is lower, and of another colour. */
const BARS: Readonly<Record<Span['state'], readonly [style: string, top: number]>> = {
  up: ['h', 0],
  unhealthy: ['w', 7],
  'needs-login': ['w', 7],
  down: ['d', 13],
  off: ['n0', 19],
  unknown: ['n0', 19],
}

/** When it worked in the last 24 hours. */
export function HealthStrip({ health: { since, spans } }: { readonly health: ServerHealth }) {
  const start = Date.parse(since)
  const scale = WIDTH / Math.max(1, Date.parse(spans.at(-1)?.to ?? since) - start)
  return (
    <svg
      className="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(spans)}
    >
      {spans.map(({ from, to, state }) => {
        const [style, top] = BARS[state]
        const width = Math.max(MIN_WIDTH, (Date.parse(to) - Date.parse(from)) * scale)
        const x = Math.min(WIDTH - width, (Date.parse(from) - start) * scale)
        return <rect key={from} className={style} x={x} y={top} width={width} height={HEIGHT - top} />
      })}
    </svg>
  )
}

function describe(spans: readonly Span[]): string {
  const outages = spans.filter(({ state }) => state === 'down' || state === 'unhealthy').length
  const hasWorked = spans.some(({ state }) => state === 'up')
  if (outages > 0) return `The last 24 hours: it did not work ${outages === 1 ? 'once' : `${outages} times`}`
  return hasWorked ? 'The last 24 hours: it worked' : 'The last 24 hours: nothing is recorded'
}
