import { join, resolve } from 'node:path'
import { DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_TIMEOUTS } from '../defaults.ts'
import type { CommonEntry, ProgramEntry } from '../servers/server-keys.ts'
import type { SourceLocation, Timeouts } from '../settings.ts'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode } from './normalize.ts'

/** One entry of `mcp_servers` that its schema has accepted, and where everything of it stands. */
export interface EntrySource<Entry> {
  readonly id: string
  /** The name it stands under, where that is no id. */
  readonly originalName: string | undefined
  readonly entry: Entry
  /** Why it is not started, where a key that isolates or restricts is misspelt. */
  readonly heldBack: string | undefined
  readonly fromVariables: readonly string[]
  readonly credentials: readonly string[]
  readonly node: ConfigNode
  readonly place: SourceLocation
  readonly home: string
  readonly userHome: string
  readonly log: IssueLog
}

/** The value of a key that has two names; both at once is an error. */
export function readEitherKey<Entry, const Key extends keyof Entry & string>(
  { entry, node, log }: EntrySource<Entry>,
  keys: readonly [Key, Key],
): Entry[Key] {
  const [first, second] = keys
  const twin = node.children.get(second)
  if (entry[first] !== undefined && entry[second] !== undefined && twin !== undefined) {
    log.error(twin, `this means the same as "${first}", which stands here too. Keep one of them.`)
  }
  return entry[first] ?? entry[second]
}

/** What all kinds of servers have. */
export function readCommonSettings(source: EntrySource<CommonEntry>, usual?: DefaultTimeouts) {
  const { entry } = source
  return {
    id: source.id,
    title: entry.title ?? source.originalName,
    enabled: isEnabled(entry) && source.heldBack === undefined,
    heldBack: source.heldBack,
    era: entry.era ?? 'auto',
    timeouts: readTimeouts(source, usual),
    includeTools: readEitherKey(source, ['includeTools', 'enabledTools']),
    excludeTools: readEitherKey(source, ['excludeTools', 'disabledTools']) ?? [],
    maxMessageBytes: entry.maxMessage ?? DEFAULT_MAX_MESSAGE_BYTES,
    isolated: entry.isolated ?? false,
    isolatedTools: entry.isolatedTools ?? [],
    result: entry.result,
    fromVariables: source.fromVariables,
    credentials: source.credentials,
    trusted: entry.trusted ?? false,
    place: source.place,
  } as const
}

/** Either key can switch a server off; neither can overrule the other. */
export function isEnabled(entry: Pick<CommonEntry, 'enabled' | 'disabled'>): boolean {
  return entry.enabled !== false && entry.disabled !== true
}

/** What all programs have that are to be started; nothing after it was logged that there is no program. */
export function readProgram(source: EntrySource<ProgramEntry>, words: readonly string[]) {
  const { entry, node, log, home, userHome } = source
  const [program = '', ...args] = words
  if (program.trim() === '') {
    log.error(node.children.get('command') ?? node, 'expected a program, such as "npx"; got an empty text.')
    return undefined
  }
  const env = readEitherKey(source, ['env', 'environment']) ?? {}
  checkEnvNames(env, source)
  const cwd = entry.cwd === undefined ? undefined : resolve(home, expandTilde(entry.cwd, userHome))
  return { command: resolveCommand(program, source), args, env, cwd }
}

function checkEnvNames(env: Readonly<Record<string, string>>, { node, log }: EntrySource<ProgramEntry>): void {
  const map = node.children.get('env') ?? node.children.get('environment')
  for (const name of Object.keys(env)) {
    if (name !== '' && !/[=\0]/.test(name)) continue
    log.error(map?.children.get(name) ?? node, 'expected the name of a variable, without "=" and NUL.')
  }
}

/** A bare name is looked up in PATH; a path is taken from the home, wherever the gateway was started. */
function resolveCommand(program: string, { home, userHome }: EntrySource<ProgramEntry>): string {
  const expanded = expandTilde(program, userHome)
  return expanded.includes('/') ? resolve(home, expanded) : expanded
}

const expandTilde = (path: string, userHome: string): string => {
  if (path === '~') return userHome
  return path.startsWith('~/') ? join(userHome, path.slice(2)) : path
}

type Limit = 'startup' | 'call' | 'max' | 'idle' | 'health'
type TimeoutKey = Exclude<Extract<keyof CommonEntry, `${string}imeout${string}`>, 'timeouts'> | 'idle'

/** The names that the ecosystem has for the same limits. */
const LIMIT_BY_KEY: Readonly<Record<TimeoutKey, Limit>> = {
  timeout: 'call',
  readTimeout: 'call',
  timeoutSeconds: 'call',
  toolTimeoutSec: 'call',
  toolTimeoutMs: 'call',
  startupTimeout: 'startup',
  startupTimeoutSec: 'startup',
  startupTimeoutMs: 'startup',
  idle: 'idle',
}

interface Given {
  readonly ms: number
  readonly node: ConfigNode | undefined
}

interface Entry {
  readonly entry: CommonEntry
  readonly node: ConfigNode
  readonly log: IssueLog
}

/** Of this kind of server, where its entry says nothing. */
type DefaultTimeouts = Pick<Timeouts, 'startup' | 'call'>

function readTimeouts({ entry, node, log }: Entry, usual: DefaultTimeouts = DEFAULT_TIMEOUTS): Timeouts {
  const given = collectTimeouts(entry, node, log)
  const call = given.get('call')?.ms ?? usual.call
  const max = given.get('max')
  if (max !== undefined && max.ms < call) {
    log.error(max.node ?? node, 'expected at least the call timeout; got less.')
  }
  return {
    startup: given.get('startup')?.ms ?? usual.startup,
    call,
    callMaximum: max?.ms ?? Math.max(call, DEFAULT_TIMEOUTS.callMaximum),
    idle: given.get('idle')?.ms,
    // Zero switches the checks off.
    health: (given.get('health')?.ms ?? DEFAULT_TIMEOUTS.health) || undefined,
  }
}

function collectTimeouts(entry: CommonEntry, spot: ConfigNode, log: IssueLog): ReadonlyMap<Limit, Given> {
  const given = new Map<Limit, Given>()
  const add = (limit: Limit, ms: number | undefined, at: ConfigNode | undefined): void => {
    if (ms === undefined) return
    const earlier = given.get(limit)
    if (earlier === undefined) given.set(limit, { ms, node: at })
    else log.error(at ?? spot, `this sets the same limit as ${earlier.node?.key}. Keep one of them.`)
  }
  const group = spot.children.get('timeouts')
  for (const limit of ['startup', 'call', 'max', 'idle', 'health'] as const) {
    add(limit, entry.timeouts?.[limit], group?.children.get(limit))
  }
  for (const [key, limit] of Object.entries(LIMIT_BY_KEY) as [TimeoutKey, Limit][]) {
    add(limit, entry[key], spot.children.get(key))
  }
  return given
}
