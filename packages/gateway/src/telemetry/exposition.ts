import type { Label, MetricFamily, Sample } from './metric-family.ts'

/** Figures as Prometheus reads them. */
export interface Exposition {
  readonly type: string
  readonly text: string
}

const PLAIN = { type: 'text/plain; version=0.0.4; charset=utf-8', isOpen: false }
const OPEN = { type: 'application/openmetrics-text; version=1.0.0; charset=utf-8', isOpen: true }

type Format = typeof PLAIN

export function expose(families: readonly MetricFamily[], accept: string | undefined): Exposition {
  const format = prefersOpenMetrics(accept) ? OPEN : PLAIN
  const told = families.filter(({ samples }) => samples.length > 0).map((family) => familyText(family, format))
  return { type: format.type, text: `${told.join('')}${format.isOpen ? '# EOF\n' : ''}` }
}

/** In OpenMetrics a counter's family is called without the `_total` of its samples; in the older format with it. */
function familyText({ name, help, kind, samples }: MetricFamily, { isOpen }: Format): string {
  const title = kind === 'counter' && !isOpen ? `${name}_total` : name
  const lines = samples.map((sample) => sampleText(name, sample))
  return `# HELP ${title} ${escaped(help)}\n# TYPE ${title} ${kind}\n${lines.join('')}`
}

function sampleText(name: string, { suffix, labels, value }: Sample): string {
  const given = labels.length === 0 ? '' : `{${labels.map(labelText).join(',')}}`
  return `${name}${suffix}${given} ${numberText(value)}\n`
}

const labelText = ([name, value]: Label): string => `${name}="${escaped(value)}"`

/** The older format does not escape quotes in help texts: ours have none. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}

/** What Prometheus itself sends prefers OpenMetrics; a browser and curl get text that they show. */
function prefersOpenMetrics(accept: string | undefined): boolean {
  if (accept === undefined) return false
  return weightOf(accept, 'application/openmetrics-text') > weightOf(accept, 'text/plain')
}

/** The greatest `q` under which a media type is named; 0 where it is not. */
function weightOf(accept: string, type: string): number {
  const weights = accept.split(',').map((range) => {
    const [named = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (named !== type) return 0
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  })
  return Math.max(0, ...weights)
}
