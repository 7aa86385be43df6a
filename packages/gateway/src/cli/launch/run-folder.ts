import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, makePrivateFolder, stateUnusable } from '../../disk/disk.ts'
import { ONLY_WINDOW } from './planned-window.ts'

/** The folder of one run: it contains the overlay, and its name identifies the owner process. */
export interface RunFolder {
  readonly id: string
  readonly path: string
}

interface Owner extends ProcessStart {
  readonly pid: number
  readonly id: string
}

/** The owner is part of the name, so that every folder has one, even if its process dies right after creating it. */
const NAME = /^(?<pid>\d+)\.(?<at>\d+)\.(?<space>\d+)\.(?<boot>[0-9a-f]+)\.(?<id>[0-9a-f]{12})$/

const tokenFile = (window: string): string => (window === ONLY_WINDOW ? 'token' : `token-${window}`)
const WINDOW_KEY = /^\d{1,6}$/
const TOKEN_ID_FILE = 'token-id'

const runsFolder = (state: string): string => join(state, 'runs')

/** Chooses the folder for a run of this process. */
export function nameRunFolder(state: string): RunFolder {
  const birth = readProcessStart(process.pid)
  if (birth === undefined) throw new SallyportError('INTERNAL', 'This process could not find out when it was started.')
  const id = randomBytes(6).toString('hex')
  const path = join(runsFolder(state), `${process.pid}.${birth.at}.${birth.space}.${birth.boot}.${id}`)
  return { id, path }
}

export function createRunFolder({ path }: RunFolder): void {
  makePrivateFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}

/** Writes the token of a window to a file, because other processes can see command lines and environments. */
export function writeLaunchToken({ path }: RunFolder, window: string, token: string): void {
  writeFileSync(join(path, tokenFile(window)), `${token}\n`, { mode: 0o600, flag: 'wx' })
}

/** `undefined` if the run has ended, since its folder is removed then. */
export function readLaunchToken(path: string, window: string = ONLY_WINDOW): string | undefined {
  if (!WINDOW_KEY.test(window)) return undefined
  try {
    return readFileSync(join(path, tokenFile(window)), 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Whether the owner process of the folder may still run. */
export function isRunAlive(path: string): boolean {
  const owner = parseOwner(basename(path))
  return owner !== undefined && mayBeAlive(owner)
}

/** Records a token of the run, so that another process can revoke it if this one is killed. */
export function recordToken({ path }: RunFolder, id: string): void {
  try {
    writeFileSync(join(path, TOKEN_ID_FILE), `${id}\n`, { mode: 0o600, flag: 'a' })
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}

export function readRecordedTokens({ path }: RunFolder): readonly string[] {
  try {
    return readFileSync(join(path, TOKEN_ID_FILE), 'utf8').split('\n')
  } catch {
    // The run died before it had a token.
    return []
  }
}

/** The folders of runs whose process has ended. Never includes the folder of a running one. */
export function findAbandonedRuns(state: string): readonly RunFolder[] {
  return listNames(runsFolder(state)).flatMap((name) => {
    const owner = parseOwner(name)
    return owner === undefined || mayBeAlive(owner) ? [] : [{ id: owner.id, path: join(runsFolder(state), name) }]
  })
}

/**
 * Links are removed and never followed. Files may stay if the agent left a process running that writes there; the next
 * run cleans them up, and they do not prevent it from starting.
 */
export function removeRunFolder({ path }: RunFolder): void {
  if (tryRemove(path)) return
  // Some programs store their downloads in read-only folders.
  makeFoldersWritable(path)
  tryRemove(path)
}

function tryRemove(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    return true
  } catch {
    return false
  }
}

function makeFoldersWritable(path: string): void {
  try {
    chmodSync(path, 0o700)
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) makeFoldersWritable(join(path, entry.name))
  } catch {
    // The folder belongs to somebody else, or was removed meanwhile.
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return []
    throw stateUnusable(folder, cause)
  }
}

function parseOwner(name: string): Owner | undefined {
  const parts = NAME.exec(name)?.groups
  if (parts === undefined) return undefined
  const { pid = '', at = '', space = '', boot = '', id = '' } = parts
  return { pid: Number(pid), at, space, boot, id }
}

/** Processes in another container on this machine cannot be checked, so their folders stay. */
function mayBeAlive(owner: Owner): boolean {
  const ours = readProcessStart(process.pid)
  if (ours === undefined || owner.boot !== ours.boot) return false
  return owner.space !== ours.space || readProcessStart(owner.pid)?.at === owner.at
}

/** When and where a process started: with its pid this distinguishes it from a later process with the same pid. */
interface ProcessStart {
  /** The boot id of the machine; clock ticks can be compared only within one boot. */
  readonly boot: string
  /** The pid namespace: a container that shares our files does not share our pids. */
  readonly space: string
  readonly at: string
}

/** `undefined` if there is no such process. */
function readProcessStart(pid: number, platform: NodeJS.Platform = process.platform): ProcessStart | undefined {
  return platform === 'linux' ? readStartFromProc(pid) : readStartFromPs(pid)
}

function readStartFromProc(pid: number): ProcessStart | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program's name is in parentheses and may itself contain parentheses and spaces.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return { ...readBootAndNamespace(), at: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

function readBootAndNamespace(): Pick<ProcessStart, 'boot' | 'space'> {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').replaceAll(/[^0-9a-f]/g, '')
  return { boot: boot.slice(0, 12), space: readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '') }
}

function readStartFromPs(pid: number): ProcessStart | undefined {
  try {
    const options = { encoding: 'utf8', env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' } } as const
    const began = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], options)
    return { boot: '0', space: '0', at: String(Date.parse(began) / 1000) }
  } catch {
    return undefined
  }
}
