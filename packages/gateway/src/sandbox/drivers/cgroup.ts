import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxLimits } from './driver.ts'

const ROOT = '/sys/fs/cgroup'
const REMOVAL_ATTEMPTS = 50
const REMOVAL_POLL_MS = 10

/** A controller of the kernel that limits something, and the folder in which groups for it can be created. */
interface Controller {
  readonly name: 'memory' | 'pids'
  readonly version: 1 | 2
  readonly parent: string
}

/** A group of processes with limits for all of them together. */
export class Cgroup {
  readonly #folders: readonly string[]
  readonly #memory: Controller | undefined
  readonly #path: (controller: Controller) => string

  constructor(controllers: readonly Controller[], name: string) {
    this.#path = ({ parent }) => join(parent, name)
    this.#folders = [...new Set(controllers.map(this.#path))]
    this.#memory = controllers.find((controller) => controller.name === 'memory')
  }

  add(pid: number): void {
    for (const folder of this.#folders) writeFileSync(join(folder, 'cgroup.procs'), `${pid}`)
  }

  /** How many of its processes the kernel has killed because they needed too much memory. */
  get killed(): number {
    if (this.#memory === undefined) return 0
    const file = this.#memory.version === 1 ? 'memory.oom_control' : 'memory.events'
    const text = readOptional(join(this.#path(this.#memory), file))
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0)
  }

  /** The processes must have ended; the kernel may need a moment more. */
  async remove(): Promise<void> {
    for (const folder of this.#folders)
      for (let attempt = 0; attempt < REMOVAL_ATTEMPTS && !removeGroup(folder); attempt++) await delay(REMOVAL_POLL_MS)
  }
}

/** `undefined` if this user may create no groups here. */
export function openCgroup(name: string, limits: SandboxLimits): Cgroup | undefined {
  const controllers = findControllers().filter((controller) => createGroup(controller, name, limits))
  return controllers.length === 0 ? undefined : new Cgroup(controllers, name)
}

/** Removes groups that a crash has left, if they have no processes and are as old as this. */
export function sweepCgroups(prefix: string, minAgeMs: number): void {
  const isOld = (path: string): boolean =>
    Date.now() - (statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0) >= minAgeMs
  for (const { parent } of findControllers())
    for (const name of listFolders(parent)) {
      const path = join(parent, name)
      if (name.startsWith(prefix) && isOld(path)) removeGroup(path)
    }
}

/**
 * In version 1 each controller has a tree of its own, and groups can be created below ours. In version 2 a group with
 * processes has no groups with limits below it, so ours is created beside the one that we are in.
 */
function findControllers(): readonly Controller[] {
  return readOptional('/proc/self/cgroup')
    .split('\n')
    .flatMap((line): readonly Controller[] => {
      const [, names = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
      if (names === '') return path === '' ? [] : findUnified(path)
      const name = (['memory', 'pids'] as const).find((one) => names.split(',').includes(one))
      return name === undefined ? [] : [{ name, version: 1, parent: join(ROOT, names, path) }]
    })
}

function findUnified(path: string): readonly Controller[] {
  const parent = join(ROOT, path === '/' ? path : dirname(path))
  const enabled = readOptional(join(parent, 'cgroup.subtree_control')).trim().split(' ')
  return (['memory', 'pids'] as const)
    .filter((name) => enabled.includes(name))
    .map((name) => ({ name, version: 2, parent }))
}

const FILES = {
  memory: { 1: 'memory.limit_in_bytes', 2: 'memory.max' },
  pids: { 1: 'pids.max', 2: 'pids.max' },
} as const

function createGroup({ name, version, parent }: Controller, group: string, limits: SandboxLimits): boolean {
  const folder = join(parent, group)
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, FILES[name][version]), `${name === 'memory' ? limits.memory : limits.processes}`)
    return true
  } catch {
    removeGroup(folder)
    return false
  }
}

/** Returns whether it is gone. */
function removeGroup(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

function listFolders(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
