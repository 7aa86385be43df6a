import { messageOf, SallyportError } from '@sallyport/core'

type Environment = Readonly<Record<string, string | undefined>>
type Headers = Readonly<Record<string, string>>

/** Where traces and metrics are sent, and how often. Times in milliseconds. */
export interface OtlpTarget {
  /** Who named it: the home, or a variable that may be meant for other programs as well. */
  readonly source: 'config' | 'environment'
  readonly traces: URL | undefined
  readonly metrics: URL | undefined
  readonly headers: Headers
  /** For one export with all its attempts. */
  readonly timeout: number
  readonly traceDelay: number
  readonly metricInterval: number
  /** Which traces that begin here are kept. */
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

/** The home's word comes first; without it the standard variables count, if they name an endpoint. */
export function resolveOtlpTarget(
  settings: OtlpSettings | undefined,
  environment: Environment,
): OtlpTarget | undefined {
  const endpoint = settings?.endpoint ?? readVariable(environment, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (endpoint === undefined || readVariable(environment, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true')
    return undefined
  const urlOf = (signal: 'traces' | 'metrics'): URL | undefined => {
    const isOff = readVariable(environment, `OTEL_${signal.toUpperCase()}_EXPORTER`) === 'none'
    return isOff ? undefined : signalUrl(endpoint, signal)
  }
  if (!settings) refuseGrpc(environment)
  return {
    source: settings ? 'config' : 'environment',
    traces: urlOf('traces'),
    metrics: urlOf('metrics'),
    // A variable's headers may hold the key to another endpoint than the one that the home names.
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

/** The specification takes an empty variable for one that is not set. */
const readVariable = (environment: Environment, name: string): string | undefined =>
  environment[name]?.trim() || undefined

function signalUrl(endpoint: string, signal: 'traces' | 'metrics'): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    // The text itself may hold a password.
    throw new SallyportError('CONFIG_INVALID', 'The OTLP endpoint is no http or https address.', {
      hint: 'Write for example http://127.0.0.1:4318; /v1/traces and /v1/metrics are added to it.',
    })
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal}`
  return url
}

function refuseGrpc(environment: Environment): void {
  const protocol = readVariable(environment, 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== 'grpc') return
  throw new SallyportError(
    'CONFIG_INVALID',
    'OTEL_EXPORTER_OTLP_PROTOCOL is grpc; OTLP is spoken over http/json only.',
    {
      hint: 'Name the HTTP endpoint of the collector as telemetry.otlp in config.yaml.',
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

/** As the specification says, what is no number counts as not set. */
function readMilliseconds(environment: Environment, name: string, otherwise: number): number {
  const value = Number(readVariable(environment, name) ?? otherwise)
  return Number.isInteger(value) && value > 0 && value < 2 ** 31 ? value : otherwise
}

function parseRatio(text = '1'): number {
  const ratio = Number(text)
  return ratio >= 0 && ratio <= 1 ? ratio : 1
}
