/** The goals of the gateway. Each goal is about one number of a run. */
export function goalsOf({ plan, gateways }) {
  const peers = gateways.filter(({ kind, back }) => kind === 'peer' && back === 'stdio').map(({ name }) => name)
  return [
    ...plan.eras.flatMap((era) => callGoals(era, peers)),
    ...largeGoals('ours-http', 'floor-pipe'),
    ...largeGoals('ours-stdio', 'floor-stdio-raw').slice(1),
    ...memoryGoals(plan),
    ...startGoals(),
    ...governanceGoals(plan),
    ...identityGoals(plan),
  ]
}

function callGoals(era, peers) {
  const at = (gateway, callers) => ({ suite: 'call', gateway, case: `${era}/${callers}` })
  const cpu = (gateway, base, callers) => (figures) => figures.ratio(at(gateway, callers), base, 'cpu')
  return [
    ...[16, 64].map((callers) => ({
      text: `CPU per call, HTTP, ${era}, ${callers} callers, × floor-pipe`,
      ...atMost(1, cpu('ours-http', 'floor-pipe', callers)),
    })),
    ...[16, 64].map((callers) => ({
      text: `CPU per call, HTTP to stdio, ${era}, ${callers} callers, × floor-stdio-raw`,
      ...atMost(1.5, cpu('ours-stdio', 'floor-stdio-raw', callers)),
    })),
    {
      text: `p50 of one caller, HTTP, ${era}, × floor-pipe`,
      ...atMost(1, (figures) => figures.ratio(at('ours-http', 1), 'floor-pipe', 'p50')),
    },
    {
      text: `Calls/s, HTTP to stdio, ${era}, 64 callers, × the fastest peer`,
      // The fastest peer is the one against which our ratio is smallest; one that was not there has no ratio.
      ...atLeast(5, (figures) =>
        Math.min(...finite(peers.map((peer) => figures.ratio(at('ours-stdio', 64), peer, 'rate')))),
      ),
    },
  ]
}

function largeGoals(gateway, floor) {
  const at = { suite: 'size', gateway, case: 10_000_000 }
  const beside = { suite: 'mixed', gateway, case: 'beside' }
  return [
    {
      text: `p50 of a 10 MB result, ${gateway}, × ${floor}`,
      ...atMost(2, (figures) => figures.ratio(at, floor, 'p50')),
    },
    {
      text: `Memory that a 10 MB result takes, ${gateway}, × the result`,
      ...atMost(3, (figures) => figures.most(at, 'growth') / 10),
    },
    {
      text: `Longest turn of the event loop beside 10 MB results, ${gateway}, ms of CPU`,
      ...atMost(50, (figures) => figures.most(beside, 'turnCpu')),
    },
    {
      text: `A 100 MB result fails its own call and no other, ${gateway}`,
      ...atLeast(1, (figures) => figures.middle({ ...beside, case: 'refused' }, 'refused')),
    },
  ]
}

function memoryGoals({ upstreams, sessions }) {
  const session = (gateway) => ({
    text: `KB for each open legacy session, ${gateway}`,
    ...atMost(15, (figures) => figures.middle({ suite: 'sessions', gateway, case: sessions }, 'kb')),
  })
  return [
    {
      text: `MB resident with ${upstreams} stdio servers`,
      ...atMost(110, (figures) =>
        figures.middle({ suite: 'upstreams', gateway: 'ours-stdio', case: upstreams }, 'worked'),
      ),
    },
    session('ours-http'),
    session('ours-stdio'),
  ]
}

function startGoals() {
  const catalog = { suite: 'catalog', gateway: 'ours-http', case: 5_000 }
  const start = { suite: 'start-up', gateway: 'ours', case: 'serve: first list' }
  return [
    {
      text: 'tools/list of 5,000 tools, p50, × floor-pipe',
      ...atMost(1, (figures) => figures.ratio(catalog, 'floor-pipe', 'p50')),
    },
    {
      text: 'First list after the start, known catalogue, ms',
      ...atMost(300, (figures) => figures.middle(start, 'ms')),
    },
    {
      text: 'The same with 5,000 tools, ms',
      ...atMost(500, (figures) => figures.middle(catalog, 'knownMs')),
    },
  ]
}

/** Runs from before governance existed have no such numbers. */
function governanceGoals({ governRounds }) {
  if (governRounds === undefined) return []
  const append = { suite: 'governance', gateway: 'ours', case: 'append' }
  return [
    {
      text: 'One more tool written into a tools.yaml of 5,000, until it is in force, ms',
      ...atMost(100, (figures) => figures.middle(append, 'first')),
    },
  ]
}

/** Runs from before servers were told who calls have no such numbers. */
function identityGoals({ identityRounds }) {
  if (identityRounds === undefined) return []
  const at = (name) => ({ suite: 'governance', gateway: 'ours', case: name })
  return ['identity: forward', 'and a private session, allowed host'].map((name) => ({
    text: `CPU for each call, without sockets: ${name}, µs more`,
    ...atMost(5, (figures) => figures.middle(at(name), 'more')),
  }))
}

const atMost = (limit, measure) => ({ sign: '≤', limit, measure, keeps: (value) => value <= limit })
const atLeast = (limit, measure) => ({ sign: '≥', limit, measure, keeps: (value) => value >= limit })

const finite = (values) => values.filter(Number.isFinite)
