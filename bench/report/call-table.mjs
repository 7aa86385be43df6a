import { median } from './figures.mjs'
export function callTable(run, era) {
  return run.gateways
    .map(
      (g) =>
        g.name.padEnd(20) +
        run.plan.callers
          .map((c) => {
            const rows = run.rows.filter((r) => r.suite === 'call' && r.gateway === g.name && r.case === `${era}/${c}`)
            return `c${c} p50 ${median(rows.map((r) => r.p50)).toFixed(2)} cpu ${median(rows.map((r) => r.cpu)).toFixed(0)} rps ${median(rows.map((r) => r.rate)).toFixed(0)}`
          })
          .join('  '),
    )
    .join('\n')
}
