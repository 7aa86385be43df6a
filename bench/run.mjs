import { cpus, loadavg } from 'node:os'

/** One run of the bench: what it is about, and every figure that it finds. */
export function createRun({ world, gateways, plan, say }) {
  const rows = []
  const failures = []
  return {
    ...{ world, gateways, plan, say, rows, failures },
    machine: { cpu: `${cpus().length} × ${cpus()[0]?.model.trim()}`, node: process.version, loadBefore: loadavg() },
    record: ({ suite, lane, case: kase, round = 0, ...figures }) =>
      rows.push({ suite, gateway: lane.gateway.name, case: String(kase), round, ...rounded(figures) }),
    /** Whether it worked: a gateway that fails is reported, and the others go on. */
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

const rounded = (figures) =>
  Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, Number(Number(value).toPrecision(4))]))
