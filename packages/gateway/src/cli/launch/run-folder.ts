import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, makePrivateFolder, stateUnusable } from '../../disk/disk.ts'
import { ONLY_WINDOW } from './planned-window.ts'

/** The folder of one run: it holds the overlay, and its name says whose it is. */
export interface RunFolder {
  readonly id: string
  readonly path: string
}

interface Owner extends ProcessStart {
  readonly pid: number
  readonly id: string
}

/** The owner stands in the name, so that no folder is ever without one, however its maker dies. */
const NAME = /^(?<pid>\d+)\.(?<at>\d+)\.(?<space>\d+)\.(?<boot>[0-9a-f]+)\.(?<id>[0-9a-f]{12})$/

const tokenFile = (window: string): string => (window === ONLY_WINDOW ? 'token' : `token-${window}`)
const WINDOW_KEY = /^\d{1,6}$/
const TOKEN_ID_FILE = 'token-id'

const runsFolder = (state: string): string => join(state, 'runs')

/** Where a run of this process will have its files. */
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

/** What its windows prove themselves with: a file, since command lines and environments are seen. */
export function writeLaunchToken({ path }: RunFolder, window: string, token: string): void {
  writeFileSync(join(path, tokenFile(window)), `${token}\n`, { mode: 0o600, flag: 'wx' })
}

/** Undefined once the run is over, and its folder with it. */
export function readLaunchToken(path: string, window: string = ONLY_WINDOW): string | undefined {
  if (!WINDOW_KEY.test(window)) return undefined
  try {
    return readFileSync(join(path, tokenFile(window)), 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Whether the process may live whose folder this is. */
export function isRunAlive(path: string): boolean {
  const owner = parseOwner(basename(path))
  return owner !== undefined && mayBeAlive(owner)
}

/** Which tokens end with the run, for whoever has to end it in its place. */
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
    // It died before it had one.
    return []
  }
}

/** What runs left behind whose process is gone. The folder of a run that lives is never among them. */
export function findAbandonedRuns(state: string): readonly RunFolder[] {
  return listNames(runsFolder(state)).flatMap((name) => {
    const owner = parseOwner(name)
    return owner === undefined || mayBeAlive(owner) ? [] : [{ id: owner.id, path: join(runsFolder(state), name) }]
  })
}

/**
 * Links are removed and never followed. What cannot be removed, because the agent left something running that writes
 * there, is left to the next run's sweep: it keeps nobody from running.
 */
export function removeRunFolder({ path }: RunFolder): void {
  if (tryRemove(path)) return
  // Some programs keep what they fetch in folders that nobody may change.
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
    // Not ours, or gone meanwhile.
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

/** Of a process in another container of this machine nothing can be known, so its folder stays. */
function mayBeAlive(owner: Owner): boolean {
  const ours = readProcessStart(process.pid)
  if (ours === undefined || owner.boot !== ours.boot) return false
  return owner.space !== ours.space || readProcessStart(owner.pid)?.at === owner.at
}

/** When and where a process began: with its pid this tells it from a later one that got the same number. */
interface ProcessStart {
  /** The boot of the machine; its clock ticks are comparable within one only. */
  readonly boot: string
  /** The pid namespace: a container that shares our files does not share our pids. */
  readonly space: string
  readonly at: string
}

/** Undefined when no such process lives. */
function readProcessStart(pid: number, platform: NodeJS.Platform = process.platform): ProcessStart | undefined {
  return platform === 'linux' ? readStartFromProc(pid) : readStartFromPs(pid)
}

function readStartFromProc(pid: number): ProcessStart | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program's name stands in brackets and may itself hold brackets and spaces.
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
