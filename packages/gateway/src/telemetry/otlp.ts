import { JsonMetricsSerializer, JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { BatchSpanProcessor, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace'
import type { CallObserver } from './call-observer.ts'
import { CallSpans } from './call-spans.ts'
import { OtlpSender } from './otlp-sender.ts'
import type { OtlpTarget } from './otlp-target.ts'
import { createSampler } from './sampler.ts'

export interface OtlpOptions {
  readonly target: OtlpTarget
  readonly version: string
  readonly onWarning: (text: string) => void
}

/** OpenTelemetry at work. */
export interface Otlp {
  readonly calls: CallObserver
  /** Sends what is left, but waits no longer than a moment for a collector that does not answer. */
  close(): Promise<void>
}

const PATIENCE = 1_000

/** The numbers of `ExportResultCode`, which is in a package that nothing else here needs. */
const TAKEN = { code: 0 } as const
const FAILED = 1

/** Nothing is registered globally: a program around us may have an OpenTelemetry of its own. */
export function openOtlp({ target, version, onWarning }: OtlpOptions): Otlp {
  const sender = new OtlpSender({ headers: target.headers, timeout: target.timeout, onWarning })
  const resource = resourceOf(version)
  const ids = new RandomIdGenerator()
  let recorded: string | undefined
  const traces = new TracerProvider({
    resource,
    sampler: createSampler(target.sampler),
    spanProcessors: target.traces ? [batching(spansTo(target.traces, sender), target)] : [],
    idGenerator: {
      generateTraceId: () => recorded ?? ids.generateTraceId(),
      generateSpanId: () => ids.generateSpanId(),
    },
  })
  const readers = target.metrics ? [reading(metricsTo(target.metrics, sender), target)] : []
  const metrics = new MeterProvider({ resource, readers })
  const calls = new CallSpans({
    tracer: traces.getTracer('sallyport', version),
    meter: metrics.getMeter('sallyport', version),
    useTraceId: (traceId) => {
      recorded = traceId
    },
  })
  return {
    calls,
    close: async () => {
      sender.hurry()
      await soon(Promise.allSettled([traces.shutdown(), metrics.shutdown()]))
      sender.close()
    },
  }
}

/** What the variables of OpenTelemetry say of the service comes before what we say. */
function resourceOf(version: string) {
  const ours = resourceFromAttributes({ 'service.name': 'sallyport', 'service.version': version })
  return defaultResource()
    .merge(ours)
    .merge(detectResources({ detectors: [envDetector] }))
}

function batching(exporter: SpanExporter, { traceDelay, timeout }: OtlpTarget): BatchSpanProcessor {
  return new BatchSpanProcessor({ exporter, scheduledDelayMillis: traceDelay, exportTimeoutMillis: timeout })
}

function reading(exporter: PushMetricExporter, { metricInterval, timeout }: OtlpTarget): PeriodicExportingMetricReader {
  const exportTimeoutMillis = Math.min(metricInterval, timeout)
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: metricInterval, exportTimeoutMillis })
}

function spansTo(url: URL, sender: OtlpSender): SpanExporter {
  return {
    export: (spans, done) => send({ url, sender, body: JsonTraceSerializer.serializeRequest(spans) }, done),
    shutdown: async () => {},
  }
}

function metricsTo(url: URL, sender: OtlpSender): PushMetricExporter {
  return {
    export: (metrics, done) => send({ url, sender, body: JsonMetricsSerializer.serializeRequest(metrics) }, done),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
}

interface Sending {
  readonly url: URL
  readonly sender: OtlpSender
  readonly body: Uint8Array | undefined
}

type Done = Parameters<SpanExporter['export']>[1]

function send({ url, sender, body }: Sending, done: Done): void {
  if (body === undefined) return done(TAKEN)
  sender.post(url, body).then(
    () => done(TAKEN),
    (error: unknown) => done({ code: FAILED, error: error instanceof Error ? error : new Error(String(error)) }),
  )
}

function soon(work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
