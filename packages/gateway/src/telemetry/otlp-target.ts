import { messageOf, SallyportError } from '@sallyport/core'

type Environment = Readonly<Record<string, string | undefined>>
type Headers = Readonly<Record<string, string>>

/** Where traces and metrics are sent, and how often. All times are in milliseconds. */
export interface OtlpTarget {
  /** Where the endpoint is set: in the config, or in an environment variable that may be meant for other programs, too. */
  readonly source: 'config' | 'environment'
  readonly traces: URL | undefined
  readonly metrics: URL | undefined
  readonly headers: Headers
  /** For one export, including all attempts. */
  readonly timeout: number
  readonly traceDelay: number
  readonly metricInterval: number
  /** Selects the traces to record, for traces that begin here. */
  readonly sampler: { readonly name: string; readonly ratio: number }
}

export interface OtlpSettings {
  readonly endpoint: string
  readonly headers: Headers
}

const DEFAULT_TIMEOUT = 10_000
const DEFAULT_TRACE_DELAY = 5_000
const DEFAULT_METRIC_INTERVAL = 60_000
const DEFAULT_SAMPLER = 'parentbased_always_on'

/** The config takes precedence. Without it, the standard variables apply if they name an endpoint. */
export function resolveOtlpTarget(
  settings: OtlpSettings | undefined,
  environment: Environment,
): OtlpTarget | undefined {
  const endpoint = settings?.endpoint ?? readVariable(environment, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (endpoint === undefined || readVariable(environment, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true')
    return undefined
  const findUrl = (signal: 'traces' | 'metrics'): URL | undefined => {
    const isOff = readVariable(environment, `OTEL_${signal.toUpperCase()}_EXPORTER`) === 'none'
    return isOff ? undefined : signalUrl(endpoint, signal)
  }
  if (!settings) refuseGrpc(environment)
  return {
    source: settings ? 'config' : 'environment',
    traces: findUrl('traces'),
    metrics: findUrl('metrics'),
    // The headers of a variable may contain the key for another endpoint than the configured one.
    headers: settings?.headers ?? parseHeaders(readVariable(environment, 'OTEL_EXPORTER_OTLP_HEADERS') ?? ''),
    timeout: readMilliseconds(environment, 'OTEL_EXPORTER_OTLP_TIMEOUT', DEFAULT_TIMEOUT),
    traceDelay: readMilliseconds(environment, 'OTEL_BSP_SCHEDULE_DELAY', DEFAULT_TRACE_DELAY),
    metricInterval: readMilliseconds(environment, 'OTEL_METRIC_EXPORT_INTERVAL', DEFAULT_METRIC_INTERVAL),
    sampler: {
      name: readVariable(environment, 'OTEL_TRACES_SAMPLER') ?? DEFAULT_SAMPLER,
      ratio: parseRatio(readVariable(environment, 'OTEL_TRACES_SAMPLER_ARG')),
    },
  }
}

/** By the specification, an empty variable counts as not set. */
const readVariable = (environment: Environment, name: string): string | undefined =>
  environment[name]?.trim() || undefined

function signalUrl(endpoint: string, signal: 'traces' | 'metrics'): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    // The message does not repeat the endpoint, because it may contain a password.
    throw new SallyportError('CONFIG_INVALID', 'The OTLP endpoint is not a valid http or https URL.', {
      hint: 'For example: http://127.0.0.1:4318; /v1/traces and /v1/metrics are appended to it.',
    })
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal}`
  return url
}

function refuseGrpc(environment: Environment): void {
  const protocol = readVariable(environment, 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== 'grpc') return
  throw new SallyportError(
    'CONFIG_INVALID',
    'OTEL_EXPORTER_OTLP_PROTOCOL is grpc; OTLP is supported over http/json only.',
    {
      hint: 'Set telemetry.otlp in config.yaml to the HTTP endpoint of the collector.',
    },
  )
}

function parseHeaders(text: string): Headers {
  const pairs = text.split(',').filter((pair) => pair.includes('='))
  try {
    return Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at).trim().toLowerCase(), decodeURIComponent(pair.slice(at + 1).trim())]
      }),
    )
  } catch (cause) {
    throw new SallyportError('CONFIG_INVALID', `OTEL_EXPORTER_OTLP_HEADERS cannot be read: ${messageOf(cause)}.`, {
      cause,
    })
  }
}

/** By the specification, an invalid number counts as not set. */
function readMilliseconds(environment: Environment, name: string, fallback: number): number {
  const value = Number(readVariable(environment, name) ?? fallback)
  return Number.isInteger(value) && value > 0 && value < 2 ** 31 ? value : fallback
}

function parseRatio(text = '1'): number {
  const ratio = Number(text)
  return ratio >= 0 && ratio <= 1 ? ratio : 1
}
