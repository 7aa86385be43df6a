import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A mounted file system, as a process sees it. */
export interface MountFact {
  readonly point: string
  readonly writable: boolean
}

/** What the kernel says about a process and the namespaces that it is in. Nothing here comes from the process itself. */
export interface ProcessFacts {
  /** Kind of namespace → its identity. */
  readonly namespaces: Readonly<Record<Namespace, string>>
  readonly interfaces: readonly string[]
  /** Routes to other machines. */
  readonly routes: number
  readonly noNewPrivileges: boolean
  /** A filter decides about its system calls. */
  readonly hasFilter: boolean
  /** Names of the sets of capabilities that are not empty. */
  readonly capabilities: readonly string[]
  /** Real, effective, saved and for files, as this machine numbers them. */
  readonly users: readonly number[]
  /** Maps of user and group ids: `<inside> <outside> <count>`. */
  readonly userMap: readonly string[]
  readonly groupMap: readonly string[]
  readonly mounts: readonly MountFact[]
  /** Descriptors above stderr that the next program gets, and what they refer to. */
  readonly descriptors: Readonly<Record<number, string>>
}

export const NAMESPACES = ['net', 'mnt', 'pid', 'ipc', 'uts', 'user'] as const
export type Namespace = (typeof NAMESPACES)[number]

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']

/** Throws the system's error if the process is gone. */
export function readProcessFacts(pid: number): ProcessFacts {
  const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')
  const status = parseStatus(read('status'))
  return {
    namespaces: readNamespaces(pid),
    interfaces: parseInterfaces(read('net/dev')),
    routes: countRoutes(read('net/route'), readOptional(`/proc/${pid}/net/ipv6_route`)),
    noNewPrivileges: status.get('NoNewPrivs') === '1',
    hasFilter: status.get('Seccomp') === '2',
    capabilities: CAPABILITY_SETS.filter((name) => !/^0+$/.test(status.get(name) ?? '')),
    users: (status.get('Uid') ?? '').split(/\s+/).map(Number),
    userMap: parseIdMap(read('uid_map')),
    groupMap: parseIdMap(read('gid_map')),
    mounts: parseMounts(read('mountinfo')),
    descriptors: readDescriptors(pid),
  }
}

export function readNamespaces(pid: number | 'self'): Readonly<Record<Namespace, string>> {
  const entries = NAMESPACES.map((name) => [name, readlinkSync(`/proc/${pid}/ns/${name}`)])
  return Object.fromEntries(entries) as Record<Namespace, string>
}

/** Whether a program in the network of this process accepts connections to 127.0.0.1 at this port. */
export function hasListener(pid: number, port: number): boolean {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = (readOptional(`/proc/${pid}/net/tcp`) ?? '').split('\n')
  return lines.some((line) => {
    const [, address, , state] = line.trim().split(/\s+/)
    return address === local && state === '0A'
  })
}

/** The process with this id in the namespace of `init`, whose child it is. */
export function findChild(init: number, idInside: number): number | undefined {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const status = parseStatus(readOptional(`/proc/${name}/status`) ?? '')
    if (status.get('PPid') !== String(init)) continue
    if (status.get('NSpid')?.split(/\s+/).at(-1) === String(idInside)) return Number(name)
  }
  return undefined
}

/** When a process was started, which tells it from a later one with the same id; `undefined` if it is dead. */
export function readStartTime(pid: number): string | undefined {
  const line = readOptional(`/proc/${pid}/stat`)
  if (line === undefined) return undefined
  const [state, ...fields] = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' || state === 'X' ? undefined : fields[18]
}

/** The name of the program that a process runs; `undefined` if it is gone. */
export const readProgramName = (pid: number): string | undefined => readOptional(`/proc/${pid}/comm`)?.trim()

export function readParent(pid: number): number | undefined {
  const parent = parseStatus(readOptional(`/proc/${pid}/status`) ?? '').get('PPid')
  return parent === undefined ? undefined : Number(parent)
}

function parseStatus(text: string): ReadonlyMap<string, string> {
  return new Map(text.split('\n').map((line) => splitOnce(line, ':')))
}

function splitOnce(line: string, separator: string): readonly [string, string] {
  const at = line.indexOf(separator)
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1).trim()]
}

/** The first two lines are headings. */
function parseInterfaces(text: string): readonly string[] {
  const lines = text.trim().split('\n').slice(2)
  return lines.map((line) => splitOnce(line.trim(), ':')[0])
}

/** The loopback interface has IPv6 routes of its own, which lead to no other machine. */
function countRoutes(v4: string, v6: string | undefined): number {
  const others = (v6 ?? '').split('\n').filter((line) => line.trim() !== '' && !/\slo$/.test(line))
  return v4.trim().split('\n').length - 1 + others.length
}

function parseIdMap(text: string): readonly string[] {
  const lines = text.trim().split('\n')
  return lines.map((line) => line.trim().split(/\s+/).join(' '))
}

/** `id parent device root point options …`; the kernel writes spaces and the like as octal numbers. */
function parseMounts(text: string): readonly MountFact[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [, , , , point = '', options = ''] = line.split(' ')
      return { point: unescapeOctal(point), writable: options.split(',').includes('rw') }
    })
}

/** The bytes of a path may be UTF-8, so they are put together before they are decoded. */
function unescapeOctal(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  const plain = bytes.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
  return Buffer.from(plain, 'latin1').toString('utf8')
}

/** Without those that are closed when the process becomes another program. */
function readDescriptors(pid: number): Readonly<Record<number, string>> {
  const numbers = readdirSync(`/proc/${pid}/fd`).map(Number)
  const passedOn = numbers.filter((number) => number > 2 && isPassedOn(pid, number))
  return Object.fromEntries(passedOn.map((number) => [number, readlinkSync(`/proc/${pid}/fd/${number}`)]))
}

const CLOSE_ON_EXEC = 0o2000000

/** Whether the next program of a process gets this descriptor. False if it is closed meanwhile. */
export function isPassedOn(pid: number | 'self', descriptor: number): boolean {
  const flags = /^flags:\s*([0-7]+)/m.exec(readOptional(`/proc/${pid}/fdinfo/${descriptor}`) ?? '')?.[1]
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
