import { messageOf, SallyportError, type SallyportEvent } from '@sallyport/core'
import { type CallObserver, joinObservers } from './call-observer.ts'
import type { Exposition } from './exposition.ts'
import { GatewayMetrics, type GatewayStats } from './gateway-metrics.ts'
import type { Otlp } from './otlp.ts'
import { type OtlpSettings, type OtlpTarget, resolveOtlpTarget } from './otlp-target.ts'

export interface TelemetryOptions {
  readonly otlp: OtlpSettings | undefined
  readonly prometheus: boolean
  readonly version: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly onWarning: (text: string) => void
}

/** Metrics and traces for external monitoring. */
export interface Telemetry {
  /** Observes every call; `undefined` if telemetry is off. */
  readonly calls: CallObserver | undefined
  recordEvent(event: SallyportEvent): void
  /** The answer of /metrics; `undefined` if metrics are off. */
  expose(readStats: () => GatewayStats, accept: string | undefined): Exposition | undefined
  /** Sends the last metrics and traces if the collector accepts them, and frees everything. */
  close(): Promise<void>
}

export async function openGatewayTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const otlp = await openExporter(options)
  const metrics = options.prometheus ? new GatewayMetrics(options.version) : undefined
  return {
    calls: joinObservers(metrics?.calls, otlp?.calls),
    recordEvent: (event) => metrics?.recordEvent(event),
    expose: (readStats, accept) => metrics?.expose(readStats(), accept),
    close: async () => {
      metrics?.close()
      await otlp?.close()
    },
  }
}

/** If the config asks for OTLP, an error stops the start. An environment variable may be meant for other programs, so an error is only a warning. */
async function openExporter(options: TelemetryOptions): Promise<Otlp | undefined> {
  const { otlp, environment, version, onWarning } = options
  try {
    const target = resolveOtlpTarget(otlp, environment)
    return target && (await loadOtlp(target))({ target, version, onWarning })
  } catch (error) {
    if (otlp || !(error instanceof SallyportError)) throw error
    onWarning(`OTEL_EXPORTER_OTLP_ENDPOINT is set, but nothing is sent: ${error.text}`)
    return undefined
  }
}

/** OpenTelemetry takes too long to load for every start, so it is loaded only if needed. */
async function loadOtlp({ source }: OtlpTarget): Promise<typeof import('./otlp.ts').openOtlp> {
  try {
    return (await import('./otlp.ts')).openOtlp
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing || !messageOf(cause).includes('@opentelemetry/')) throw cause
    const wanted = source === 'config' ? 'telemetry.otlp' : 'OTEL_EXPORTER_OTLP_ENDPOINT'
    throw new SallyportError('CONFIG_INVALID', `${wanted} needs the OpenTelemetry packages, which are not installed.`, {
      hint: `Install them beside sallyport: npm install ${OTEL_PACKAGES.join(' ')}`,
      cause,
    })
  }
}

/** The same versions as in the peer dependencies of the package. */
export const OTEL_PACKAGES = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/otlp-transformer@0.223.1',
  '@opentelemetry/resources@2.12.1',
  '@opentelemetry/sdk-metrics@2.12.1',
  '@opentelemetry/sdk-trace@2.12.1',
]
