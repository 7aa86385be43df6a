import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** What `npx` or `uvx` would start, found where it has installed it. */
export interface InstalledPackage {
  readonly program: string
  readonly args: readonly string[]
  /** More that it must see. */
  readonly folders: readonly string[]
}

export interface RunnerCommand {
  readonly name: string
  readonly args: readonly string[]
  readonly environment: Environment
  readonly userHome: string
}

/**
 * Programs that install packages and start them need a network and a cache that they may write, at every start. What
 * they have installed before is started directly. `undefined` if the command is not one of theirs, or has options that
 * we do not know; `missing` if the package is not installed.
 */
export function findInstalledPackage(command: RunnerCommand): InstalledPackage | 'missing' | undefined {
  const runner = RUNNERS[basename(command.name)]
  if (runner === undefined) return undefined
  const words = [...command.args]
  while (words[0] === '-y' || words[0] === '--yes') words.shift()
  const [spec, ...args] = words
  if (spec === undefined || spec.startsWith('-')) return undefined
  return runner({ ...command, args }, spec) ?? 'missing'
}

type Runner = (command: RunnerCommand, spec: string) => InstalledPackage | undefined

const RUNNERS: Readonly<Record<string, Runner>> = { npx: findWithNpx, uvx: findWithUvx }

/** npx installs each set of packages in a folder of its own, and writes there which ones it was asked for. */
function findWithNpx({ args, environment, userHome }: RunnerCommand, spec: string): InstalledPackage | undefined {
  const cache = join(environment.npm_config_cache ?? join(userHome, '.npm'), '_npx')
  const folder = findNewest(foldersIn(cache).filter((path) => isInstalledFor(path, spec)))
  if (folder === undefined) return undefined
  const root = join(folder, 'node_modules', spec.replace(/(?<=.)@.*$/, ''))
  const file = readBin(root, basename(root))
  if (file === undefined) return undefined
  const program = join(root, file)
  return existsSync(program) ? { program, args, folders: [folder] } : undefined
}

function isInstalledFor(folder: string, spec: string): boolean {
  const { _npx: { packages } = {} } = (readJson(join(folder, 'package.json')) ?? {}) as {
    _npx?: { packages?: unknown }
  }
  return Array.isArray(packages) && packages.length === 1 && packages[0] === spec
}

/** The only program of a package, or the one with its name. */
function readBin(root: string, name: string): string | undefined {
  const { bin } = (readJson(join(root, 'package.json')) ?? {}) as { bin?: string | Record<string, string> }
  if (bin === undefined || typeof bin === 'string') return bin
  const files = Object.values(bin)
  return files.length === 1 ? files[0] : bin[name]
}

/** uv keeps a venv for each tool: installed ones by name, those of `uvx` in its cache. */
function findWithUvx({ args, environment, userHome }: RunnerCommand, spec: string): InstalledPackage | undefined {
  const { UV_TOOL_DIR, UV_CACHE_DIR, XDG_DATA_HOME = join(userHome, '.local/share') } = environment
  const cache = UV_CACHE_DIR ?? join(environment.XDG_CACHE_HOME ?? join(userHome, '.cache'), 'uv')
  const tool = join(UV_TOOL_DIR ?? join(XDG_DATA_HOME, 'uv/tools'), spec)
  const environments = foldersIn(cache)
    .filter((path) => basename(path).startsWith('environments-'))
    .flatMap(foldersIn)
    .flatMap(foldersIn)
  const program = (folder: string): string => join(folder, 'bin', spec)
  const usable = [tool, ...environments].filter((folder) => existsSync(program(folder)))
  const newest = usable[0] === tool ? tool : findNewest(usable)
  return newest === undefined ? undefined : { program: program(realpathSync(newest)), args, folders: [] }
}

function foldersIn(folder: string): readonly string[] {
  try {
    const paths = readdirSync(folder).map((name) => join(folder, name))
    return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory())
  } catch {
    return []
  }
}

const findNewest = (paths: readonly string[]): string | undefined =>
  paths.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
