import { median } from './figures.mjs'
import { goalsOf } from './goals.mjs'
import { createRunFigures } from './run-figures.mjs'
import { suiteTables } from './suite-tables.mjs'
import { printNumber, printShare, printTable } from './table.mjs'

/** A run as a page of Markdown. The same page is printed and published: it contains nothing that is not in the run. */
export function printPage(run) {
  const figures = createRunFigures(run)
  const parts = [
    '# Benchmarks',
    `Written by \`npm run bench -- --write\`. ${bench(run)}`,
    '## The machine and its noise',
    noise(run, figures),
    '## Goals',
    goalTable(run, figures),
    ...suiteTables(run, figures).flatMap(({ title, text }) => [`## ${title}`, text]),
    '## What was measured',
    gatewayList(run),
    ...(run.failures.length === 0 ? [] : ['## Failures', failureList(run)]),
  ]
  return `${parts.join('\n\n')}\n`
}

const bench = ({ plan }) =>
  `Every figure is a middle of ${plan.rounds} rounds or fewer, in which all gateways are up and take turns; every ratio is the middle of the ratios of the rounds. What it all means, and how to repeat it: [bench/README.md](../bench/README.md).`

function noise({ machine, rows }, figures) {
  const places = [...new Set(rows.filter(({ suite }) => suite === 'call').map((row) => JSON.stringify(placeOf(row))))]
  const middleSpread = (key) => median(places.map((place) => figures.spread(JSON.parse(place), key)))
  const load = (values) => values.map((value) => value.toFixed(2)).join(' ')
  return [
    `- ${machine.cpu}, Node ${machine.node}`,
    `- load average: ${load(machine.loadBefore)} before, ${load(machine.loadAfter)} after`,
    `- spread over rounds (half the distance of the quartiles, middle over all calls): CPU per call ${printShare(middleSpread('cpu'))}, p50 ${printShare(middleSpread('p50'))}`,
  ].join('\n')
}

const placeOf = ({ suite, gateway, case: kase }) => ({ suite, gateway, case: kase })

function goalTable(run, figures) {
  const rows = goalsOf(run).map(({ text, sign, limit, measure, keeps }) => {
    const value = measure(figures)
    const verdict = Number.isFinite(value) ? (keeps(value) ? 'kept' : '**missed**') : 'not measured'
    return [text, `${sign} ${limit}`, printGoal(value), verdict]
  })
  return printTable(['goal', 'limit', 'measured', ''], rows)
}

/** Two digits, so that a missed goal is not rounded to its limit. */
const printGoal = (value) => (Math.abs(value) < 10 ? value.toFixed(2) : printNumber(value))

const gatewayList = ({ gateways }) =>
  printTable(
    ['name', 'path', 'what it is'],
    gateways.map(({ name, front, back, kind, note, version }) => [
      name,
      `${front} → ${back}`,
      [kind, version, note].filter((word) => word !== undefined).join(', '),
    ]),
  )

const failureList = ({ failures }) =>
  failures.map(({ gateway, what, reason }) => `- ${gateway}, ${what}: ${reason}`).join('\n')
