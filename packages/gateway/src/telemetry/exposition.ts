import type { Label, MetricFamily, Sample } from './metric-family.ts'

/** Metrics in a text format of Prometheus. */
export interface Exposition {
  readonly type: string
  readonly text: string
}

const PLAIN_FORMAT = { type: 'text/plain; version=0.0.4; charset=utf-8', isOpen: false }
const OPEN_METRICS_FORMAT = { type: 'application/openmetrics-text; version=1.0.0; charset=utf-8', isOpen: true }

type Format = typeof PLAIN_FORMAT

export function expose(families: readonly MetricFamily[], accept: string | undefined): Exposition {
  const format = prefersOpenMetrics(accept) ? OPEN_METRICS_FORMAT : PLAIN_FORMAT
  const texts = families.filter(({ samples }) => samples.length > 0).map((family) => formatFamily(family, format))
  return { type: format.type, text: `${texts.join('')}${format.isOpen ? '# EOF\n' : ''}` }
}

/** In OpenMetrics, the name of a counter's family has no `_total`; in the older format it has. */
function formatFamily({ name, help, kind, samples }: MetricFamily, { isOpen }: Format): string {
  const title = kind === 'counter' && !isOpen ? `${name}_total` : name
  const lines = samples.map((sample) => formatSample(name, sample))
  return `# HELP ${title} ${escapeText(help)}\n# TYPE ${title} ${kind}\n${lines.join('')}`
}

function formatSample(name: string, { suffix, labels, value }: Sample): string {
  const given = labels.length === 0 ? '' : `{${labels.map(formatLabel).join(',')}}`
  return `${name}${suffix}${given} ${formatNumber(value)}\n`
}

const formatLabel = ([name, value]: Label): string => `${name}="${escapeText(value)}"`

/** The older format does not escape quotes in help texts, but ours have none. */
function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}

/** Prometheus prefers OpenMetrics; a browser and curl get plain text. */
function prefersOpenMetrics(accept: string | undefined): boolean {
  if (accept === undefined) return false
  return parseQuality(accept, 'application/openmetrics-text') > parseQuality(accept, 'text/plain')
}

/** The largest `q` of a media type; 0 if it is not listed. */
function parseQuality(accept: string, type: string): number {
  const weights = accept.split(',').map((range) => {
    const [named = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (named !== type) return 0
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  })
  return Math.max(0, ...weights)
}
