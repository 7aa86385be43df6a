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

/** What those who watch from outside get to know. */
export interface Telemetry {
  /** Wants to know of every call; undefined where nobody watches. */
  readonly calls: CallObserver | undefined
  recordEvent(event: SallyportEvent): void
  /** What /metrics answers; undefined where it is off. */
  expose(readings: () => GatewayStats, accept: string | undefined): Exposition | undefined
  /** After this nothing of it is left, and the last figures have been sent if anybody took them. */
  close(): Promise<void>
}

export async function openGatewayTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const otlp = await openExporter(options)
  const figures = options.prometheus ? new GatewayMetrics(options.version) : undefined
  return {
    calls: joinObservers(figures?.calls, otlp?.calls),
    recordEvent: (event) => figures?.recordEvent(event),
    expose: (readings, accept) => figures?.expose(readings(), accept),
    close: async () => {
      figures?.close()
      await otlp?.close()
    },
  }
}

/** What the home asks for must work; a variable may be meant for other programs, and stops nothing. */
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

/** Loading it takes longer than a whole start may, so that it is loaded for those alone who want it. */
async function loadOtlp({ source }: OtlpTarget): Promise<typeof import('./otlp.ts').openOtlp> {
  try {
    return (await import('./otlp.ts')).openOtlp
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing || !messageOf(cause).includes('@opentelemetry/')) throw cause
    const wanted = source === 'config' ? 'telemetry.otlp' : 'OTEL_EXPORTER_OTLP_ENDPOINT'
    throw new SallyportError(
      'CONFIG_INVALID',
      `${wanted} needs the packages of OpenTelemetry, which are not installed.`,
      {
        hint: `Install them beside sallyport: npm install ${OTEL_PACKAGES.join(' ')}`,
        cause,
      },
    )
  }
}

/** As in the peer dependencies of the package. */
export const OTEL_PACKAGES = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/otlp-transformer@0.223.1',
  '@opentelemetry/resources@2.12.1',
  '@opentelemetry/sdk-metrics@2.12.1',
  '@opentelemetry/sdk-trace@2.12.1',
]
