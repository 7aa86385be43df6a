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

const SHUTDOWN_TIMEOUT_MS = 1_000

/** The numbers of `ExportResultCode`, which is in a package that nothing else here needs. */
const EXPORT_SUCCESS = { code: 0 } as const
const EXPORT_FAILED_CODE = 1

/** Nothing is registered globally: a program around us may have an OpenTelemetry of its own. */
export function openOtlp({ target, version, onWarning }: OtlpOptions): Otlp {
  const sender = new OtlpSender({ headers: target.headers, timeout: target.timeout, onWarning })
  const resource = createResource(version)
  const ids = new RandomIdGenerator()
  let recorded: string | undefined
  const traces = new TracerProvider({
    resource,
    sampler: createSampler(target.sampler),
    spanProcessors: target.traces ? [createSpanProcessor(createSpanExporter(target.traces, sender), target)] : [],
    idGenerator: {
      generateTraceId: () => recorded ?? ids.generateTraceId(),
      generateSpanId: () => ids.generateSpanId(),
    },
  })
  const readers = target.metrics ? [createMetricReader(createMetricExporter(target.metrics, sender), target)] : []
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
      sender.stopRetrying()
      await withTimeout(Promise.allSettled([traces.shutdown(), metrics.shutdown()]))
      sender.close()
    },
  }
}

/** What the variables of OpenTelemetry say of the service comes before what we say. */
function createResource(version: string) {
  const ours = resourceFromAttributes({ 'service.name': 'sallyport', 'service.version': version })
  return defaultResource()
    .merge(ours)
    .merge(detectResources({ detectors: [envDetector] }))
}

function createSpanProcessor(exporter: SpanExporter, { traceDelay, timeout }: OtlpTarget): BatchSpanProcessor {
  return new BatchSpanProcessor({ exporter, scheduledDelayMillis: traceDelay, exportTimeoutMillis: timeout })
}

function createMetricReader(
  exporter: PushMetricExporter,
  { metricInterval, timeout }: OtlpTarget,
): PeriodicExportingMetricReader {
  const exportTimeoutMillis = Math.min(metricInterval, timeout)
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: metricInterval, exportTimeoutMillis })
}

function createSpanExporter(url: URL, sender: OtlpSender): SpanExporter {
  return {
    export: (spans, done) => send({ url, sender, body: JsonTraceSerializer.serializeRequest(spans) }, done),
    shutdown: async () => {},
  }
}

function createMetricExporter(url: URL, sender: OtlpSender): PushMetricExporter {
  return {
    export: (metrics, done) => send({ url, sender, body: JsonMetricsSerializer.serializeRequest(metrics) }, done),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
}

interface ExportRequest {
  readonly url: URL
  readonly sender: OtlpSender
  readonly body: Uint8Array | undefined
}

type ExportCallback = Parameters<SpanExporter['export']>[1]

function send({ url, sender, body }: ExportRequest, done: ExportCallback): void {
  if (body === undefined) return done(EXPORT_SUCCESS)
  sender.post(url, body).then(
    () => done(EXPORT_SUCCESS),
    (error: unknown) =>
      done({ code: EXPORT_FAILED_CODE, error: error instanceof Error ? error : new Error(String(error)) }),
  )
}

function withTimeout(work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, SHUTDOWN_TIMEOUT_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
