/** One line of a metric: suffix of the name, labels and value. */
export interface Sample {
  readonly suffix: '' | '_total' | '_bucket' | '_sum' | '_count'
  readonly labels: readonly Label[]
  readonly value: number
}

export type Label = readonly [name: string, value: string]

/** All samples of one metric. */
export interface MetricFamily {
  /** Without the suffix `_total` of counters. */
  readonly name: string
  readonly help: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

type FamilyHead = Pick<MetricFamily, 'name' | 'help'> & { readonly labels: readonly string[] }

/** A family of current values. */
export function gauge(name: string, help: string, values: readonly LabeledValue[]): MetricFamily {
  return { name, help, kind: 'gauge', samples: values.map(([value, ...labels]) => ({ suffix: '', labels, value })) }
}

export type LabeledValue = readonly [value: number, ...labels: readonly Label[]]

/** A family of values that were counted elsewhere. */
export function counter(name: string, help: string, values: readonly LabeledValue[]): MetricFamily {
  const samples = values.map(([value, ...labels]) => ({ suffix: '_total' as const, labels, value }))
  return { name, help, kind: 'counter', samples }
}

/** Values have no line breaks: see `cleanLabel`. */
const keyOf = (values: readonly string[]): string => values.join('\n')

/** The count for one combination of label values. */
export interface Count {
  readonly values: readonly string[]
  count: number
}

/** One count for each combination of label values. The caller has to limit the number of combinations. */
export class Counters {
  readonly #head: FamilyHead
  readonly #counts = new Map<string, Count>()

  constructor(head: FamilyHead) {
    this.#head = head
  }

  add(values: readonly string[], amount = 1): void {
    this.withLabels(values).count += amount
  }

  /** Returns the count itself, for callers that increment it often. */
  withLabels(values: readonly string[]): Count {
    const key = keyOf(values)
    const known = this.#counts.get(key) ?? { values, count: 0 }
    this.#counts.set(key, known)
    return known
  }

  family(): MetricFamily {
    const { name, help, labels } = this.#head
    const samples = [...this.#counts.values()].map(({ values, count }) => ({
      suffix: '_total' as const,
      labels: zipLabels(labels, values),
      value: count,
    }))
    return { name, help, kind: 'counter', samples }
  }
}

/** Durations for one combination of label values, in buckets. */
export class Distribution {
  readonly values: readonly string[]
  /** Number of values in each bucket: up to its bound and above the previous one. The last bucket has no bound. */
  readonly counts: number[]
  readonly #bounds: readonly number[]
  sum = 0

  constructor(values: readonly string[], bounds: readonly number[]) {
    this.values = values
    this.#bounds = bounds
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  add(seconds: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += seconds
  }
}

/** Durations for each combination of label values. */
export class Histograms {
  readonly #head: FamilyHead
  readonly #bounds: readonly number[]
  readonly #distributions = new Map<string, Distribution>()

  constructor({ bounds, ...head }: FamilyHead & { readonly bounds: readonly number[] }) {
    this.#head = head
    this.#bounds = bounds
  }

  withLabels(values: readonly string[]): Distribution {
    const key = keyOf(values)
    const known = this.#distributions.get(key) ?? new Distribution(values, this.#bounds)
    this.#distributions.set(key, known)
    return known
  }

  family(): MetricFamily {
    const { name, help } = this.#head
    const samples = [...this.#distributions.values()].flatMap((distribution) => this.#samplesOf(distribution))
    return { name, help, kind: 'histogram', samples }
  }

  #samplesOf({ values, counts, sum }: Distribution): readonly Sample[] {
    const labels = zipLabels(this.#head.labels, values)
    let total = 0
    const buckets = counts.map((count, index): Sample => {
      total += count
      const bound: Label = ['le', formatBound(this.#bounds[index])]
      return { suffix: '_bucket', labels: [...labels, bound], value: total }
    })
    return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: total }]
  }
}

const zipLabels = (names: readonly string[], values: readonly string[]): readonly Label[] =>
  names.map((name, index) => [name, values[index] ?? ''])

/** OpenMetrics requires a decimal point, also for integers. */
function formatBound(bound: number | undefined): string {
  if (bound === undefined) return '+Inf'
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}
