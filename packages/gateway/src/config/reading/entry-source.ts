import { join, resolve } from 'node:path'
import { toSensitivityRule } from '@sallyport/core'
import { DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_TIMEOUTS } from '../defaults.ts'
import type { CommonEntry, ProgramEntry } from '../servers/server-keys.ts'
import type { SandboxDefault, SourceLocation, Timeouts } from '../settings.ts'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode } from './normalize.ts'

/** One entry of `mcp_servers` that passed its schema, with the location of every value. */
export interface EntrySource<Entry> {
  readonly id: string
  /** The name in the file, if it is not a valid id. */
  readonly originalName: string | undefined
  readonly entry: Entry
  /** Why the server is not started, if a key that isolates or restricts is misspelt. */
  readonly heldBack: string | undefined
  readonly fromVariables: readonly string[]
  readonly credentials: readonly string[]
  readonly node: ConfigNode
  readonly location: SourceLocation
  readonly home: string
  readonly userHome: string
  readonly sandboxDefault: SandboxDefault
  readonly log: IssueLog
}

/** The value of a key that has two names. Using both is an error. */
export function readEitherKey<Entry, const Key extends keyof Entry & string>(
  { entry, node, log }: EntrySource<Entry>,
  keys: readonly [Key, Key],
): Entry[Key] {
  const [first, second] = keys
  const duplicate = node.children.get(second)
  if (entry[first] !== undefined && entry[second] !== undefined && duplicate !== undefined) {
    log.error(duplicate, `this means the same as "${first}", which is also set here. Keep one of them.`)
  }
  return entry[first] ?? entry[second]
}

/** The settings that all kinds of servers share. */
export function readCommonSettings(source: EntrySource<CommonEntry>, defaults?: DefaultTimeouts) {
  const { entry } = source
  return {
    id: source.id,
    title: entry.title ?? source.originalName,
    enabled: isEnabled(entry) && source.heldBack === undefined,
    heldBack: source.heldBack,
    era: entry.era ?? 'auto',
    timeouts: readTimeouts(source, defaults),
    includeTools: readEitherKey(source, ['includeTools', 'enabledTools']),
    excludeTools: readEitherKey(source, ['excludeTools', 'disabledTools']) ?? [],
    maxMessageBytes: entry.maxMessage ?? DEFAULT_MAX_MESSAGE_BYTES,
    isolated: entry.isolated ?? false,
    isolatedTools: entry.isolatedTools ?? [],
    result: entry.result,
    fromVariables: source.fromVariables,
    credentials: source.credentials,
    trusted: entry.trusted ?? false,
    sensitivity: toSensitivityRule(entry),
    identity: entry.identity,
    location: source.location,
  } as const
}

/** Either key can switch a server off, and the other cannot switch it on again. */
export function isEnabled(entry: Pick<CommonEntry, 'enabled' | 'disabled'>): boolean {
  return entry.enabled !== false && entry.disabled !== true
}

/** The settings of a program to start. If the command is empty, it logs an error and returns `undefined`. */
export function readProgram(source: EntrySource<ProgramEntry>, commandLine: readonly string[]) {
  const { entry, node, log, home, userHome } = source
  const [program = '', ...args] = commandLine
  if (program.trim() === '') {
    log.error(node.children.get('command') ?? node, 'expected a program, such as "npx"; got an empty string.')
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

/** A bare name is looked up in PATH. A path is relative to the home, wherever the gateway was started. */
function resolveCommand(program: string, { home, userHome }: EntrySource<ProgramEntry>): string {
  const expanded = expandTilde(program, userHome)
  return expanded.includes('/') ? resolve(home, expanded) : expanded
}

export const expandTilde = (path: string, userHome: string): string => {
  if (path === '~') return userHome
  return path.startsWith('~/') ? join(userHome, path.slice(2)) : path
}

type Limit = 'startup' | 'call' | 'max' | 'idle' | 'health'
type TimeoutKey = Exclude<Extract<keyof CommonEntry, `${string}imeout${string}`>, 'timeouts'> | 'idle'

/** Names for the same limits that other programs use in their config files. */
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

interface ConfiguredTimeout {
  readonly ms: number
  readonly node: ConfigNode | undefined
}

interface Entry {
  readonly entry: CommonEntry
  readonly node: ConfigNode
  readonly log: IssueLog
}

/** The defaults of this kind of server. */
type DefaultTimeouts = Pick<Timeouts, 'startup' | 'call'>

function readTimeouts({ entry, node, log }: Entry, defaults: DefaultTimeouts = DEFAULT_TIMEOUTS): Timeouts {
  const given = collectTimeouts(entry, node, log)
  const call = given.get('call')?.ms ?? defaults.call
  const max = given.get('max')
  if (max !== undefined && max.ms < call) {
    log.error(max.node ?? node, 'expected at least the call timeout; got less.')
  }
  return {
    startup: given.get('startup')?.ms ?? defaults.startup,
    call,
    callMaximum: max?.ms ?? Math.max(call, DEFAULT_TIMEOUTS.callMaximum),
    idle: given.get('idle')?.ms,
    // Zero switches the checks off.
    health: (given.get('health')?.ms ?? DEFAULT_TIMEOUTS.health) || undefined,
  }
}

function collectTimeouts(entry: CommonEntry, node: ConfigNode, log: IssueLog): ReadonlyMap<Limit, ConfiguredTimeout> {
  const given = new Map<Limit, ConfiguredTimeout>()
  const add = (limit: Limit, ms: number | undefined, at: ConfigNode | undefined): void => {
    if (ms === undefined) return
    const earlier = given.get(limit)
    if (earlier === undefined) given.set(limit, { ms, node: at })
    else log.error(at ?? node, `this sets the same limit as ${earlier.node?.key}. Keep one of them.`)
  }
  const group = node.children.get('timeouts')
  for (const limit of ['startup', 'call', 'max', 'idle', 'health'] as const) {
    add(limit, entry.timeouts?.[limit], group?.children.get(limit))
  }
  for (const [key, limit] of Object.entries(LIMIT_BY_KEY) as [TimeoutKey, Limit][]) {
    add(limit, entry[key], node.children.get(key))
  }
  return given
}
