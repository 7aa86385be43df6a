import { attest, type ExpectedMount } from '../attestation.ts'
import { readNamespaces } from '../process-facts.ts'
import type { WantedSettings } from './container-options.ts'
import { buildSeccompProfile } from './seccomp-profile.ts'

/** What an engine says about a container: the parts that are checked. */
export interface ContainerState {
  readonly id: string
  readonly isRunning: boolean
  readonly pid: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mounts: readonly { readonly Type?: string; readonly Destination?: string; readonly RW?: boolean }[]
}

/** Who has confirmed what a container is: the kernel, or only the engine. */
export type Witness = 'kernel' | 'engine'

export interface ProcessExpectation {
  readonly mounts: readonly ExpectedMount[]
  /** The process whose network it must share. */
  readonly networkOf?: number
}

/** Reads what `inspect` printed; `undefined` if that is not the state of one container. */
export function parseContainerState(text: string): ContainerState | undefined {
  try {
    const [found] = JSON.parse(text) as [Record<string, unknown>]
    const state = found.State as { Running?: unknown; Pid?: unknown }
    if (typeof found.Id !== 'string' || typeof found.HostConfig !== 'object' || !Array.isArray(found.Mounts)) return
    return {
      id: found.Id,
      isRunning: state.Running === true,
      pid: typeof state.Pid === 'number' ? state.Pid : 0,
      settings: found.HostConfig as Record<string, unknown>,
      mounts: found.Mounts as ContainerState['mounts'],
    }
  } catch {
    return undefined
  }
}

/** Each of these would share something of this machine. */
const SHARING = ['PidMode', 'IpcMode', 'UTSMode', 'UsernsMode'] as const
const GRANTS = ['CapAdd', 'Devices', 'DeviceRequests', 'DeviceCgroupRules', 'VolumesFrom', 'GroupAdd'] as const

/** How the engine's own description differs from what was asked for; empty if it does not. */
export function compareSettings({ settings, mounts }: ContainerState, wanted: WantedSettings): readonly string[] {
  const { NetworkMode, Privileged, ReadonlyRootfs, SecurityOpt, PidsLimit, Memory } = settings
  const options = Array.isArray(SecurityOpt) ? SecurityOpt.map(String) : []
  const differs = (isRight: boolean, problem: string): readonly string[] => (isRight ? [] : [problem])
  return [
    ...differs(NetworkMode === wanted.network, `its network is ${NetworkMode}`),
    ...differs(Privileged === false, 'it is privileged'),
    ...differs(ReadonlyRootfs === true, 'it can write to /'),
    ...differs(
      options.some((option) => /^no-new-privileges(?:[:=]true)?$/.test(option)),
      'it may gain privileges',
    ),
    ...differs(hasFilter(options, wanted), 'its system calls are not filtered as they should be'),
    ...options.filter((option) => /unconfined/.test(option)).map((option) => `it has the option ${option}`),
    ...SHARING.filter((key) => /^(?:host|container|ns)/.test(String(settings[key] ?? ''))).map(
      (key) => `its ${key} is ${settings[key]}`,
    ),
    ...GRANTS.filter((key) => Array.isArray(settings[key]) && (settings[key] as unknown[]).length > 0).map(
      (key) => `it has ${key} (${(settings[key] as unknown[]).map(String).join(', ')})`,
    ),
    ...differs(PidsLimit === wanted.processes, 'the number of its processes is not limited'),
    ...differs(Memory === wanted.memory, 'its memory is not limited'),
    ...compareMounts(mounts, wanted),
  ]
}

/** Docker repeats the content of the file, Podman its name. */
const hasFilter = (options: readonly string[], { filter }: WantedSettings): boolean =>
  filter === undefined || options.includes(`seccomp=${filter}`) || options.includes(`seccomp=${buildSeccompProfile()}`)

function compareMounts(mounts: ContainerState['mounts'], wanted: WantedSettings): readonly string[] {
  const found = mounts.filter(({ Type }) => Type !== 'tmpfs')
  const unexpected = found.filter(({ Destination }) => !wanted.mounts.some(({ guest }) => guest === Destination))
  const missing = wanted.mounts.filter(({ guest }) => !found.some(({ Destination }) => Destination === guest))
  const writable = found.filter(({ Destination, RW }) =>
    wanted.mounts.some(({ guest, access }) => guest === Destination && access === 'read' && RW !== false),
  )
  return [
    ...unexpected.map(({ Destination }) => `it sees ${Destination}, which it should not`),
    ...missing.map(({ guest }) => `nothing is mounted at ${guest}`),
    ...writable.map(({ Destination }) => `it can write to ${Destination}`),
  ]
}

/** What the kernel says about the first process of a container, as far as this user may ask. */
export function attestContainer(
  pid: number,
  { mounts, networkOf }: ProcessExpectation,
): { readonly witness: Witness; readonly differences: readonly string[] } {
  try {
    const differences = attest(pid, { mounts, user: 'ordinary', hasStarted: true, isFiltered: true })
    const isShared = networkOf === undefined || readNamespaces(pid).net === readNamespaces(networkOf).net
    return { witness: 'kernel', differences: isShared ? differences : [...differences, 'it has another network'] }
  } catch (error) {
    if (!isForbidden(error)) throw error
    return { witness: 'engine', differences: [] }
  }
}

/** Processes of other users hide their namespaces from ordinary users. */
const isForbidden = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
