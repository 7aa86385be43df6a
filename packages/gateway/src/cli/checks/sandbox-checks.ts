import { DEFAULT_SETTINGS, type Environment, type ServerConfig } from '../../config/config.ts'
import {
  type DriverChoice,
  listCandidates,
  openCgroup,
  type ProbeResult,
  type SandboxContent,
  type SandboxDrivers,
} from '../../sandbox/sandbox.ts'
import { openOwnDrivers } from '../sandbox/own-drivers.ts'
import { type Check, ok, warning, wrong } from './check.ts'

type DriverName = keyof SandboxDrivers
type Probe = (name: DriverName) => Promise<ProbeResult>

/** Tries all drivers, as the gateway does before the first server, and reports which of them `auto` uses. */
export function checkSandboxDrivers(environment: Environment): Promise<readonly Check[]> {
  return withProbe(environment, async (probe) => {
    const names = listCandidates('auto', 'program')
    const results = await Promise.all(names.map(probe))
    const level = results.some((result) => result.ok) ? warning : wrong
    const checks = names.map((name, index) => describeDriver(name, results[index] as ProbeResult, level))
    return [...(await Promise.all(checks)), await describeAuto(probe)]
  })
}

/** Whether the servers that ask for a sandbox can have it: one line for each driver that they ask for. */
export function checkNeededSandboxes(
  servers: readonly ServerConfig[],
  environment: Environment,
): Promise<readonly Check[]> {
  const sandboxes = servers.flatMap((server) =>
    server.enabled && server.kind === 'stdio' && server.sandbox !== undefined ? [server.sandbox] : [],
  )
  const needs = new Map(
    sandboxes.flatMap(({ driver, image }): [string, Need][] => {
      if (driver === 'none') return []
      const content = image === undefined ? 'program' : 'image'
      return [[`${driver} ${content}`, { driver, content }]]
    }),
  )
  return withProbe(environment, async (probe) => {
    const checks: Check[] = []
    for (const need of needs.values()) checks.push(...(await checkNeed(need, probe)))
    return [...new Map(checks.map((check) => [check.name, check])).values()]
  })
}

interface Need {
  readonly driver: DriverChoice
  readonly content: SandboxContent
}

/** The driver that is used, or why none of those that are tried works. */
async function checkNeed({ driver, content }: Need, probe: Probe): Promise<readonly Check[]> {
  const names = listCandidates(driver, content)
  const used = await findWorking(names, probe)
  if (used !== undefined) return [await describeDriver(used, { ok: true }, wrong)]
  return Promise.all(names.map(async (name) => describeDriver(name, await probe(name), wrong)))
}

/** Each driver is tried at most once, and what they started is ended. */
async function withProbe<Result>(environment: Environment, work: (probe: Probe) => Promise<Result>): Promise<Result> {
  const own = openOwnDrivers(environment)
  const probes = new Map<DriverName, Promise<ProbeResult>>()
  const probe: Probe = (name) => {
    const result = probes.get(name) ?? own.drivers[name].probe()
    probes.set(name, result)
    return result
  }
  try {
    return await work(probe)
  } finally {
    await own.close()
  }
}

async function findWorking(names: readonly DriverName[], probe: Probe): Promise<DriverName | undefined> {
  for (const name of names) if ((await probe(name)).ok) return name
  return undefined
}

async function describeDriver(
  driver: DriverName,
  result: ProbeResult,
  failed: typeof warning | typeof wrong,
): Promise<Check> {
  const name = `sandbox ${driver}`
  if (!result.ok) return failed(name, `${result.reason}.`, result.fix)
  if (driver === 'bubblewrap' && !(await canLimitTogether())) return warning(name, ...LIMITS_EACH)
  return ok(name, 'Programs can be isolated')
}

async function describeAuto(probe: Probe): Promise<Check> {
  const name = 'sandbox auto'
  const [program, image] = [
    await findWorking(listCandidates('auto', 'program'), probe),
    await findWorking(listCandidates('auto', 'image'), probe),
  ]
  if (program === undefined) return wrong(name, 'Servers with a sandbox do not start.', 'Make one of these work.')
  const images = image === undefined ? 'images need docker or podman' : `images are run by ${image}`
  return ok(name, `Programs are isolated by ${program}; ${images}`)
}

const LIMITS_EACH = [
  'Programs can be isolated, but memory is limited for each process only, not for all of a sandbox together: this user can create no control groups.',
  'Start the gateway as a service of systemd, or see docs/sandbox.md, "Rights and limits".',
] as const

async function canLimitTogether(): Promise<boolean> {
  const group = openCgroup(`sallyport-check-${process.pid}`, DEFAULT_SETTINGS.sandbox.limits)
  await group?.remove()
  return group !== undefined
}
