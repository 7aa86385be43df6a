import { cpus, loadavg } from 'node:os'

/** One run of the bench: its setting, and every number that it measures. */
export function startRun({ world, gateways, plan, say }) {
  const rows = []
  const failures = []
  return {
    world,
    gateways,
    plan,
    say,
    rows,
    failures,
    machine: { cpu: `${cpus().length} × ${cpus()[0]?.model.trim()}`, node: process.version, loadBefore: loadavg() },
    record: ({ suite, lane, case: kase, round = 0, ...figures }) =>
      rows.push({ suite, gateway: lane.gateway.name, case: String(kase), round, ...rounded(figures) }),
    /** Whether it worked: a gateway that fails is reported, and the others continue. */
    attempt: async (gateway, what, work) => {
      try {
        await work()
        return true
      } catch (error) {
        failures.push({ gateway: gateway.name, what, reason: error.message })
        say(`  ! ${gateway.name}: ${what}: ${error.message}`)
        return false
      }
    },
  }
}

/** The stored form of a run: only data. */
export function finishRun({ machine, plan, gateways, rows, failures }) {
  return {
    machine: { ...machine, loadAfter: loadavg() },
    plan,
    gateways: gateways.map(({ launch: _, ...described }) => described),
    failures,
    rows,
  }
}

/** One row to a line, so that two runs can be compared with diff. */
export function printRun({ rows, ...rest }) {
  const lines = rows.map((row) => JSON.stringify(row)).join(',\n')
  return `${JSON.stringify(rest).slice(0, -1)},"rows":[\n${lines}\n]}\n`
}

/** Four digits are more precise than any measurement here. JSON has no NaN. */
const rounded = (figures) =>
  Object.fromEntries(
    Object.entries(figures)
      .filter(([, value]) => Number.isFinite(value))
      .map(([key, value]) => [key, Number(value.toPrecision(4))]),
  )
