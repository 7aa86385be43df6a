import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from './processes.ts'

type Attributes = Readonly<Record<string, unknown>>

export interface CollectedSpan {
  readonly name: string
  /** 2 is a server's, 3 a client's. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** 2 is an error. */
  readonly status: { readonly code?: number; readonly message?: string }
  readonly attributes: Attributes
  readonly resource: Attributes
}

export interface CollectedPoint {
  readonly metric: string
  readonly count: number
  readonly bounds: readonly number[]
  readonly attributes: Attributes
}

export interface OtlpCollector {
  readonly url: string
  /** Every body that came, as it came. */
  readonly bodies: readonly string[]
  readonly heads: readonly { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[]
  spans(): readonly CollectedSpan[]
  points(): readonly CollectedPoint[]
  /** Waits for the spans of a trace. */
  trace(traceId: string, count: number): Promise<readonly CollectedSpan[]>
  close(): Promise<void>
}

/** A collector that takes OTLP as JSON and keeps it. `behave` says how it answers: with a status, or never. */
export async function openOtlpCollector(behave: () => number | 'never' = () => 200): Promise<OtlpCollector> {
  const bodies: string[] = []
  const heads: OtlpCollector['heads'][number][] = []
  const server = createServer(async (request, response) => {
    heads.push({ path: request.url, headers: request.headers })
    bodies.push(await bodyOf(request))
    const status = behave()
    if (status !== 'never') response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const spans = (): readonly CollectedSpan[] => bodies.flatMap((body) => spansIn(JSON.parse(body)))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    heads,
    spans,
    points: () => bodies.flatMap((body) => pointsIn(JSON.parse(body))),
    trace: (traceId, count) =>
      eventually(
        () => spans().filter((span) => span.traceId === traceId),
        (found) => found.length >= count,
      ),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

type Raw = Record<string, any>

function spansIn({ resourceSpans = [] }: Raw): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: Raw) =>
    scopeSpans.flatMap(({ spans }: Raw) =>
      spans.map((span: Raw) => ({
        ...span,
        parentSpanId: span.parentSpanId || undefined,
        attributes: attributesIn(span.attributes),
        resource: attributesIn(resource.attributes),
      })),
    ),
  )
}

function pointsIn({ resourceMetrics = [] }: Raw): readonly CollectedPoint[] {
  return resourceMetrics.flatMap(({ scopeMetrics }: Raw) =>
    scopeMetrics.flatMap(({ metrics }: Raw) =>
      metrics.flatMap(({ name, histogram }: Raw) =>
        histogram.dataPoints.map(({ count, explicitBounds, attributes }: Raw) => ({
          metric: name,
          count: Number(count),
          bounds: explicitBounds,
          attributes: attributesIn(attributes),
        })),
      ),
    ),
  )
}

function attributesIn(list: readonly Raw[] = []): Attributes {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]))
}
