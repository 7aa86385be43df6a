import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { extname, isAbsolute, resolve } from 'node:path'
import { quoteForShell, SallyportError } from '@sallyport/core'
import { WORKSPACE } from '../drivers/bubblewrap-arguments.ts'
import type { Mount, SandboxSpec } from '../drivers/driver.ts'
import { findInPath, isProgram } from './find-in-path.ts'
import { findInstalledPackage, type InstalledPackage } from './package-runners.ts'
import { findProgramFolders, findScriptFolders, keepOutermost } from './program-folders.ts'
import { findAllHidden, isInside, type ProtectedFolders, resolveLinks } from './protected-folders.ts'

export interface ProgramRequest {
  /** The program and its arguments, as they would be typed. */
  readonly command: readonly [string, ...string[]]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What was asked for, the workspace included. */
  readonly mounts: readonly Mount[]
  readonly protection: ProtectedFolders
}

export interface ProgramPlan extends Pick<SandboxSpec, 'program' | 'args' | 'cwd' | 'mounts' | 'hidden'> {
  /** What the user should know. */
  readonly notes: readonly string[]
}

/** Arguments that name code: only these make their folders visible, so that `cat ~/notes.txt` does not. */
const SCRIPT_ENDINGS: ReadonlySet<string> = new Set(
  '.js .mjs .cjs .ts .mts .cts .jsx .tsx .py .pyz .rb .pl .php .sh .bash .jar .lua .wasm'.split(' '),
)

/** Finds the program and what it must see of this machine to run. */
export function planProgram(request: ProgramRequest): ProgramPlan {
  const { command, cwd, environment, mounts, protection } = request
  const [name, ...args] = command
  const installed = findInstalledPackage({ name, args, environment, userHome: protection.home })
  const found: InstalledPackage =
    installed === undefined || installed === 'missing'
      ? { program: findProgram(request), args, folders: [] }
      : installed
  const scripts = found.args.map((word) => findScript(word, cwd)).filter((script) => script !== undefined)
  for (const path of [found.program, ...scripts.map((script) => script.path)]) requireShowable(path, protection)
  const folders = keepOutermost([
    ...found.folders,
    ...findProgramFolders(found.program, protection),
    ...findInterpreter(found.program, environment, protection),
    ...scripts.flatMap(({ path }) => findScriptFolders(path, protection)),
  ])
  const shown = folders.map((path): Mount => ({ host: resolveLinks(path), guest: path, access: 'read' }))
  const all = [...shown.filter(({ guest }) => !mounts.some((mount) => mount.guest === guest)), ...mounts]
  return {
    program: found.program,
    args: found.args,
    cwd: chooseCwd({ cwd, mounts, protection, isNeeded: scripts.some(({ isRelative }) => isRelative) }),
    mounts: all,
    hidden: findAllHidden(all, protection),
    notes: installed === 'missing' ? [notInstalled(command)] : [],
  }
}

function findProgram({ command: [name], cwd, environment }: ProgramRequest): string {
  const path = name.includes('/') ? resolve(cwd, name) : findInPath(name, environment.PATH)
  if (path !== undefined && isProgram(path)) return path
  const where = name.includes('/') ? 'no program with this path' : 'no program with this name in PATH'
  throw new SallyportError('USAGE', `${name} cannot be started: there is ${where}.`, {
    hint: 'Install it, or correct the command.',
  })
}

/** Without this it would only say that there is no such file, although there is. */
function requireShowable(path: string, { secret }: ProtectedFolders): void {
  const folder = secret.find((one) => isInside(resolveLinks(path), one))
  if (folder === undefined) return
  throw new SallyportError('USAGE', `${path} cannot run in a sandbox: ${folder} is never shown to sandboxes.`, {
    hint: 'Move it to a folder of its own.',
  })
}

interface Script {
  readonly path: string
  readonly isRelative: boolean
}

/** `server.mjs`, `./server.py`, `--import=./hook.mjs` */
function findScript(word: string, cwd: string): Script | undefined {
  const value = word.startsWith('-') ? word.slice(word.indexOf('=') + 1) : word
  if (!SCRIPT_ENDINGS.has(extname(value))) return undefined
  const path = resolve(cwd, value)
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? { path, isRelative: !isAbsolute(value) } : undefined
}

/** A file that begins with `#!/usr/bin/env node` also needs node, which may be installed anywhere. */
function findInterpreter(
  program: string,
  { PATH }: ProgramRequest['environment'],
  protection: ProtectedFolders,
): readonly string[] {
  const line = readFirstLine(program)
  const match = /^#!\s*(\S+)(?:\s+(?:-S\s+)?(\S+))?/.exec(line)
  if (match === null) return []
  const [, first = '', second] = match
  const path = first.endsWith('/env') && second !== undefined ? findInPath(second, PATH) : first
  return path !== undefined && isProgram(path) ? findProgramFolders(path, protection) : []
}

/** Empty for a program that we may start but not read. */
function readFirstLine(path: string): string {
  try {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(256)
      return bytes.toString('latin1', 0, readSync(file, bytes)).split('\n')[0] ?? ''
    } finally {
      closeSync(file)
    }
  } catch {
    return ''
  }
}

interface CwdOptions {
  readonly cwd: string
  /** What was asked for: folders that are shown because of the program may not be where it should write. */
  readonly mounts: readonly Mount[]
  readonly protection: ProtectedFolders
  /** An argument is a path that starts there. */
  readonly isNeeded: boolean
}

/** Where the program starts: at the same place, as far as that can be seen inside. */
function chooseCwd({ cwd, mounts, protection, isNeeded }: CwdOptions): string {
  const real = resolveLinks(cwd)
  const isSecret = protection.secret.some((folder) => isInside(real, folder))
  const around = isSecret ? [] : mounts.filter(({ host }) => isInside(real, host))
  const [closest] = around.toSorted((a, b) => b.host.length - a.host.length)
  const holder = around.find(({ guest }) => guest === WORKSPACE) ?? closest
  if (holder !== undefined) return `${holder.guest}${real.slice(holder.host.length)}`
  return isNeeded ? cwd : WORKSPACE
}

const notInstalled = ([name, ...args]: readonly [string, ...string[]]): string =>
  `${name} has not installed this package yet, and will download it into a private folder at each start, which needs a network mode that reaches the registry. Run it once outside to avoid that: ${[name, ...args].map(quoteForShell).join(' ')}`
