import { existsSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { SYSTEM_FOLDERS } from '../drivers/bubblewrap-arguments.ts'
import { findProtection, isInside, type ProtectedFolders, resolveLinks } from './protected-folders.ts'

/** The parts of an installation, beside its folder `bin`. */
const INSTALLED_PARTS = ['bin', 'lib', 'lib64', 'libexec']

/** Their presence says that a folder is the root of a project. */
const PROJECT_FILES = [
  'package.json',
  'pyproject.toml',
  'setup.py',
  'deno.json',
  'deno.jsonc',
  'Gemfile',
  'composer.json',
]

const MAX_LINKS = 40

/** What a program needs to see of itself: the folders of its file and of all links that lead there. */
export function findProgramFolders(program: string, protection: ProtectedFolders): readonly string[] {
  const found = followLinks(program).flatMap((file) => findInstallation(file, protection))
  return keepOutermost(found)
}

/** What a script needs to see of itself: its project, or at least its folder, and the packages of Node around it. */
export function findScriptFolders(script: string, protection: ProtectedFolders): readonly string[] {
  const files = [script, realpathSync(script)]
  const own = files.flatMap((file) => findShown([findProject(dirname(file)), dirname(file), file], protection))
  return keepOutermost([...own, ...files.flatMap((file) => findPackages(dirname(file), protection))])
}

/** Where Node looks for packages: a project may share them with others in the same repository. */
function findPackages(folder: string, protection: ProtectedFolders): readonly string[] {
  const parent = dirname(folder)
  const around = parent === folder ? [] : findPackages(parent, protection)
  return [...findShown([[join(folder, 'node_modules')]], protection), ...around]
}

/** Without those that are in another one, or in every sandbox anyway. */
export function keepOutermost(paths: readonly string[]): readonly string[] {
  const unique = [...new Set(paths)].filter((path) => !SYSTEM_FOLDERS.some((folder) => isInside(path, folder)))
  return unique.filter((path) => !unique.some((other) => other !== path && isInside(path, other)))
}

/** The path, and each path that its links lead to. */
function followLinks(path: string): readonly string[] {
  const found = [join(resolveLinks(dirname(path)), basename(path))]
  for (let at = found[0] as string; found.length < MAX_LINKS; found.push(at)) {
    try {
      at = resolve(dirname(at), readlinkSync(at))
    } catch {
      break
    }
    at = join(resolveLinks(dirname(at)), basename(at))
  }
  // The path as it was written is what the program is started with.
  return [path, ...found]
}

/** By the folder `bin` of an installation or of a venv, else by the project. */
function findInstallation(file: string, protection: ProtectedFolders): readonly string[] {
  const folder = dirname(file)
  const root = dirname(folder)
  if (basename(folder) !== 'bin') return findShown([findProject(folder), folder, file], protection)
  const base = readPythonHome(root)
  if (base === undefined)
    return findShown([[...INSTALLED_PARTS.map((part) => join(root, part))], folder, file], protection)
  return [...findShown([root, folder, file], protection), ...findInstallation(join(base, 'python3'), protection)]
}

/** For a Python venv: the folder of the Python that it was made from. */
function readPythonHome(root: string): string | undefined {
  try {
    const home = /^home\s*=\s*(.+)$/m.exec(readFileSync(join(root, 'pyvenv.cfg'), 'utf8'))?.[1]?.trim()
    return home !== undefined && isAbsolute(home) ? resolveLinks(home) : undefined
  } catch {
    return undefined
  }
}

function findProject(folder: string): string | undefined {
  for (let at = folder; at !== dirname(at); at = dirname(at))
    if (PROJECT_FILES.some((name) => existsSync(join(at, name)))) return at
  return undefined
}

type Candidate = string | readonly string[] | undefined

/** The first candidate that may be shown as a whole. */
function findShown(candidates: readonly Candidate[], protection: ProtectedFolders): readonly string[] {
  for (const candidate of candidates) {
    if (candidate === undefined) continue
    const paths = typeof candidate === 'string' ? [candidate] : candidate.filter((path) => existsSync(path))
    if (paths.length > 0 && paths.every((path) => mayShow(path, protection))) return paths
  }
  return []
}

const mayShow = (path: string, protection: ProtectedFolders): boolean =>
  statSync(path, { throwIfNoEntry: false }) !== undefined &&
  findProtection(resolveLinks(path), protection) === undefined
