import { printNumber, printRatio, printShare, printTable } from './table.mjs'

const SESSION_KEYS = [
  'kb',
  'firstKb',
  'heapKb',
  'processes',
  'streams',
  'streamKb',
  'heapLeft',
  'residentLeft',
  'descriptorsLeft',
]
const START_CASES = [
  'node -e 0',
  'serve: listening',
  'serve: first list',
  'serve --stdio: first window, first list',
  'serve --stdio: second window, first list',
]

const IDENTITY_CASES = [
  'neither identity nor label',
  'identity: forward',
  'and an INTERNAL session',
  'and a private session, allowed host',
]
const DECISION_CASES = ['a plain tool', 'path and argument rules', 'a nested schema']

/** The floor of a path: the minimum cost of anything in Node there. */
const floorOf = ({ front, back }) => (front === 'http' && back === 'stdio' ? 'floor-stdio-raw' : 'floor-pipe')
const measured = ({ gateways }, figures, suite) => gateways.filter(({ name }) => figures.has(suite, name))

/** Each suite's table, as `{title, text}`; those that were not run are left out. */
export function suiteTables(run, figures) {
  const tables = [
    ...['modern', 'legacy'].map((era) => callTable(run, figures, era)),
    sizeTable(run, figures),
    mixedTable(run, figures),
    sessionTable(run, figures),
    catalogTable(run, figures),
    upstreamTable(run, figures),
    startTable(figures),
    decisionTable(figures),
    identityTable(figures),
    appendTable(figures),
  ]
  return tables
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, head, rows }) => ({ title, text: printTable(head, rows) }))
}

function callTable(run, figures, era) {
  const { callers } = run.plan
  const last = callers.at(-1)
  const at = (gateway, count) => ({ suite: 'call', gateway: gateway.name, case: `${era}/${count}` })
  const all = (gateway, key) => callers.map((count) => printNumber(figures.middle(at(gateway, count), key))).join(' / ')
  const gateways = measured(run, figures, 'call').filter((gateway) =>
    Number.isFinite(figures.middle(at(gateway, last), 'cpu')),
  )
  const at3 = callers.join(' / ')
  return {
    title: `A call with a result of 1 KB, ${era} era`,
    head: [
      'gateway',
      'path',
      `p50 ms, ${at3} callers`,
      `p99 ms`,
      'calls/s',
      'CPU µs per call',
      `CPU × floor at ${last}`,
      'spread of CPU',
      'RSS MB',
    ],
    rows: gateways.map((gateway) => [
      gateway.name,
      pathOf(gateway),
      ...['p50', 'p99', 'rate', 'cpu'].map((key) => all(gateway, key)),
      printRatio(figures.ratio(at(gateway, last), floorOf(gateway), 'cpu')),
      printShare(figures.spread(at(gateway, last), 'cpu')),
      printNumber(figures.middle(at(gateway, last), 'rss')),
    ]),
  }
}

function sizeTable(run, figures) {
  const { sizes } = run.plan
  const cell = (gateway) => (size) => {
    const at = { suite: 'size', gateway: gateway.name, case: size }
    const cpu = figures.middle(at, 'cpu') / 1_000
    return [figures.middle(at, 'p50'), cpu, figures.most(at, 'growth')].map(printNumber).join(' / ')
  }
  return {
    title: 'Results by size: p50 ms / CPU ms per call / most growth of memory in MB',
    head: ['gateway', 'path', ...sizes.map(printSize)],
    rows: measured(run, figures, 'size').map((gateway) => [gateway.name, pathOf(gateway), ...sizes.map(cell(gateway))]),
  }
}

function mixedTable(run, figures) {
  return {
    title: '64 callers of small calls beside results of 10 MB',
    head: [
      'gateway',
      'p99 ms alone',
      'p99 ms beside',
      'p50 ms of 10 MB',
      'longest turn, ms of CPU',
      'longest turn, ms',
      '100 MB',
    ],
    rows: measured(run, figures, 'mixed').map((gateway) => {
      const at = { suite: 'mixed', gateway: gateway.name, case: 'beside' }
      const refused = figures.middle({ ...at, case: 'refused' }, 'refused')
      return [
        gateway.name,
        ...['alone', 'beside', 'large'].map((key) => printNumber(figures.middle(at, key))),
        ...['turnCpu', 'turnWall'].map((key) => printNumber(figures.most(at, key))),
        Number.isNaN(refused) ? '–' : refused === 1 ? 'refused' : 'passed',
      ]
    }),
  }
}

function sessionTable(run, figures) {
  return {
    title: 'Open legacy sessions',
    head: [
      'gateway',
      'sessions',
      'KB each',
      'KB each of the first',
      'heap KB each',
      'more processes',
      'streams',
      'KB a stream',
      'heap left MB',
      'RSS left MB',
      'descriptors left',
    ],
    rows: measured(run, figures, 'sessions').map((gateway) => {
      const count = Math.min(run.plan.sessions, gateway.maxSessions ?? run.plan.sessions)
      const at = { suite: 'sessions', gateway: gateway.name, case: count }
      return [gateway.name, printNumber(count), ...SESSION_KEYS.map((key) => printNumber(figures.middle(at, key)))]
    }),
  }
}

function catalogTable(run, figures) {
  const cell = (gateway) => (tools) => {
    const at = { suite: 'catalog', gateway: gateway.name, case: tools }
    const cpu = figures.middle(at, 'cpu') / 1_000
    return [...['startMs', 'knownMs', 'p50'].map((key) => figures.middle(at, key)), cpu].map(printNumber).join(' / ')
  }
  return {
    title:
      'Catalogues: ms from the start to the first whole list / the same with a known catalogue / p50 ms of a list / its CPU ms',
    head: ['gateway', 'path', ...run.plan.toolCounts.map((count) => `${count.toLocaleString('en')} tools`)],
    rows: measured(run, figures, 'catalog').map((gateway) => [
      gateway.name,
      pathOf(gateway),
      ...run.plan.toolCounts.map(cell(gateway)),
    ]),
  }
}

function upstreamTable(run, figures) {
  return {
    title: 'Memory with many servers',
    head: ['gateway', 'servers', 'RSS MB, idle', 'RSS MB after 5,000 calls'],
    rows: measured(run, figures, 'upstreams').map(({ name }) => {
      const at = { suite: 'upstreams', gateway: name, case: run.plan.upstreams }
      return [name, ...['running', 'idle', 'worked'].map((key) => printNumber(figures.middle(at, key)))]
    }),
  }
}

function startTable(figures) {
  const at = (name) => ({ suite: 'start-up', gateway: 'ours', case: name })
  return {
    title: 'Starts on the demonstration home',
    head: ['from spawning the process to', 'ms', 'spread'],
    rows: figures.has('start-up', 'ours')
      ? START_CASES.map((name) => [
          name,
          printNumber(figures.middle(at(name), 'ms')),
          printShare(figures.spread(at(name), 'ms')),
        ])
      : [],
  }
}

function decisionTable(figures) {
  const at = (name) => ({ suite: 'governance', gateway: 'ours', case: name })
  const rows = DECISION_CASES.filter((name) => Number.isFinite(figures.middle(at(name), 'p50')))
  return {
    title: 'Deciding about one call, by itself',
    head: ['the call is of', 'p50 µs', 'p99 µs', 'spread of p50'],
    rows: rows.map((name) => [
      name,
      ...['p50', 'p99'].map((key) => printNumber(figures.middle(at(name), key))),
      printShare(figures.spread(at(name), 'p50')),
    ]),
  }
}

function identityTable(figures) {
  const at = (name) => ({ suite: 'governance', gateway: 'ours', case: name })
  const rows = IDENTITY_CASES.filter((name) => Number.isFinite(figures.middle(at(name), 'cpu')))
  return {
    title: 'Telling a server who calls, and labels, without sockets',
    head: ['the call has', 'CPU µs', 'more than without, µs', 'spread'],
    rows: rows.map((name) => [
      name,
      ...['cpu', 'more'].map((key) => printNumber(figures.middle(at(name), key))),
      printShare(figures.spread(at(name), 'cpu')),
    ]),
  }
}

function appendTable(figures) {
  const at = { suite: 'governance', gateway: 'ours', case: 'append' }
  return {
    title: 'One more tool in a tools.yaml of thousands',
    head: ['written, checked and in force', 'ms', 'spread'],
    rows: ['first', 'later']
      .filter((key) => Number.isFinite(figures.middle(at, key)))
      .map((key) => [
        `the ${key} one of a process`,
        printNumber(figures.middle(at, key)),
        printShare(figures.spread(at, key)),
      ]),
  }
}

const pathOf = ({ front, back }) => `${front} → ${back}`
const printSize = (bytes) => (bytes >= 1e6 ? `${bytes / 1e6} MB` : `${bytes / 1e3} KB`)
