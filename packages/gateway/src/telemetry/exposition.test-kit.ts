/** A parsed sample. */
export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadFamily {
  readonly name: string
  readonly type: string
  readonly samples: readonly ReadSample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (NaN|[+-]Inf|[+-]?[0-9.e+-]+)$`)

/** Parses either format like a strict scraper, and throws at everything that such a scraper refuses or warns about. */
export function readExposition(text: string, format: 'plain' | 'open' = 'plain'): ReadonlyMap<string, ReadFamily> {
  if (!text.endsWith('\n')) throw new Error('The last line does not end with a line break.')
  const lines = text.slice(0, -1).split('\n')
  if (format === 'open' && lines.pop() !== '# EOF') throw new Error('There is no # EOF at the end.')
  const families = new Map<string, { name: string; type: string; samples: ReadSample[] }>()
  let current: { name: string; type: string; samples: ReadSample[] } | undefined
  const series = new Set<string>()
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const help = new RegExp(`^# HELP (${NAME}) \\S.*$`).exec(line)
    if (help) {
      const name = help[1] ?? ''
      const type = new RegExp(`^# TYPE ${name} (counter|gauge|histogram)$`).exec(lines[++at] ?? '')?.[1]
      if (type === undefined) throw new Error(`No type follows the help of ${name}: ${lines[at]}`)
      if (families.has(name)) throw new Error(`${name} has two heads.`)
      current = { name, type, samples: [] }
      families.set(name, current)
      continue
    }
    if (!current) throw new Error(`A sample has no head: ${line}`)
    const sample = readSample(line)
    const key = JSON.stringify([sample.name, sample.labels])
    if (series.has(key)) throw new Error(`Printed twice: ${line}`)
    series.add(key)
    if (!suffixesOf(current, format).includes(sample.name)) throw new Error(`${line} is listed under ${current.name}`)
    current.samples.push(sample)
  }
  for (const family of families.values()) checkFamily(family)
  return families
}

function suffixesOf({ name, type }: ReadFamily, format: 'plain' | 'open'): readonly string[] {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`]
  return [type === 'counter' && format === 'open' ? `${name}_total` : name]
}

function readSample(line: string): ReadSample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
  if (name === '') throw new Error(`Not a sample: ${line}`)
  const number = Number(value.replace('Inf', 'Infinity'))
  if (value !== 'NaN' && Number.isNaN(number)) throw new Error(`Not a number: ${line}`)
  return { name, labels: readLabels(labels, line), value: number }
}

function readLabels(text: string, line: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const [whole, name = '', value = ''] = LABEL.exec(text) ?? []
    if (whole === undefined) throw new Error(`Invalid labels: ${line}`)
    if (Object.hasOwn(labels, name)) throw new Error(`Duplicate label: ${line}`)
    labels[name] = value.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char))
  }
  return labels
}

/** Checks what promtool warns about, and the rules for histograms. */
function checkFamily(family: ReadFamily): void {
  const { name, type, samples } = family
  if (samples.length === 0) throw new Error(`${name} has no samples.`)
  if (type === 'gauge' && name.endsWith('_total')) throw new Error(`${name} is not a counter.`)
  for (const { labels } of samples)
    for (const reserved of ['le', 'quantile'])
      if (type !== 'histogram' && reserved in labels) throw new Error(`${name} has the label ${reserved}.`)
  if (type === 'histogram') checkHistogram(family)
}

function checkHistogram({ name, samples }: ReadFamily): void {
  const groups = new Map<string, ReadSample[]>()
  for (const sample of samples) {
    const { le: _, ...rest } = sample.labels
    const key = JSON.stringify(rest)
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const count = group.find((sample) => sample.name === `${name}_count`)?.value
    const bounds = buckets.map(({ labels }) => Number(labels.le?.replace('Inf', 'Infinity')))
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${name} has no last bucket.`)
    if (buckets.at(-1)?.value !== count) throw new Error(`${name}: the last bucket does not include all values.`)
    for (let at = 1; at < buckets.length; at++) {
      if ((bounds[at] ?? 0) <= (bounds[at - 1] ?? 0)) throw new Error(`${name}: bounds are out of order.`)
      if ((buckets[at]?.value ?? 0) < (buckets[at - 1]?.value ?? 0))
        throw new Error(`${name}: buckets are not cumulative.`)
    }
    if (!group.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum.`)
  }
}

/** The value of the one sample with all these labels; `undefined` if there is none. */
export function findValue(
  families: ReadonlyMap<string, ReadFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const samples = [...families.values()].flatMap((family) => family.samples)
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  if (found.length > 1) throw new Error(`${name} ${JSON.stringify(labels)} matches ${found.length} samples.`)
  return found[0]?.value
}
