import { readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import type { HostContext, NativeServer } from './agent-adapter.ts'
import type { ParsedNativeFile } from './agent-overlay.ts'
import { readNativeFile } from './files/read-native-file.ts'
import { hasFlag } from './flag-values.ts'

/** Somewhere an agent takes MCP servers from, and what `run` does about it. docs/agents.md lists them all. */
export interface ServerSource {
  readonly name: string
  /** `closed`: by means of the agent's own; `refused`: `run` starts nothing while something is there; `open`: it stays. */
  readonly state: 'closed' | 'refused' | 'open'
  /** By which means, or what stays, in few words. */
  readonly mechanism: string
  /** What is there now that cannot be kept from the agent: files, flags, variables, as a person would look for them. */
  find?(search: SourceSearch): readonly string[] | Promise<readonly string[]>
}

export interface SourceSearch {
  readonly host: HostContext
  /** The folders in which files of a project may count, the outermost first. */
  readonly folders: readonly string[]
  /** The arguments of the agent, up to `--`. */
  readonly args: readonly string[]
  readonly native: readonly ParsedNativeFile[]
  /** What the launch itself gives the agent; nothing while that is not known. */
  readonly servers: readonly NativeServer[]
}

/** What of its sources would give an agent servers besides those of the launch. */
export async function findOtherServers(
  sources: readonly ServerSource[],
  search: SourceSearch,
): Promise<readonly string[]> {
  const found = await Promise.all(sources.map((source) => source.find?.(search) ?? []))
  return [...new Set(found.flat())]
}

/**
 * Where the agent starts, the folders above it, and those that its arguments name: many agents can be told to work
 * elsewhere, each by a flag of its own.
 */
export function projectFolders(cwd: string, args: readonly string[]): readonly string[] {
  const named = args.flatMap(possiblePaths).map((value) => resolve(cwd, value))
  // Behind a link an agent sees the folders above the real one.
  const folders = [...named.filter((path) => tryStat(path)?.isDirectory()), cwd].flatMap((path) => [
    path,
    realPath(path),
  ])
  return [...new Set(folders.flatMap(withParents))]
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // It is gone, or may not be entered.
    return path
  }
}

function possiblePaths(arg: string): readonly string[] {
  if (arg.length > 4_096) return []
  if (!arg.startsWith('-')) return [arg]
  const at = arg.indexOf('=')
  return [arg.slice(2), ...(at < 0 ? [] : [arg.slice(at + 1)])].filter((value) => value !== '')
}

/** From the outermost to the innermost, which counts most. */
function withParents(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [...withParents(parent), folder]
}

/** A program that drives the agent by one of these flags or commands can give it servers of its own. */
export const drivingProgramSource = (...words: readonly string[]): ServerSource => ({
  name: 'a program that drives it',
  state: 'refused',
  mechanism: words.map((word) => `\`${word}\``).join(', '),
  find: ({ args }) => words.filter((word) => (word.startsWith('--') ? hasFlag(args, word) : args.includes(word))),
})

/** Flags by which an agent works in the folder of an earlier session, or in one that it makes: nobody has looked there for servers. */
export const resumedSessionSource = (...flags: readonly string[]) => ({
  name: 'sessions that are resumed',
  state: 'refused' as const,
  mechanism: `${flags.map((flag) => `\`${flag}\``).join(', ')}: they work in another folder, which is not searched`,
  find: ({ args }: Pick<SourceSearch, 'args'>): readonly string[] => flags.filter((flag) => hasFlag(args, flag)),
})

/** Files of a project that name servers, which the agent starts whatever it is told. */
export const projectFilesSource = (mechanism: string): ServerSource => ({
  name: 'files of the project',
  state: 'refused',
  mechanism,
  find: ({ native }) =>
    native
      .filter(({ file, config }) => file.scope === 'project' && config.servers.length > 0)
      .map(({ file }) => file.path),
})

interface FileQuery {
  /** The key under which these files hold servers. */
  readonly key: string
  readonly files: RegExp
  /** How many folders deep they may lie. */
  readonly depth?: number
}

const MAX_FILES = 10_000

/** The files of a folder that may hold servers. One that cannot be read may hold some. */
export async function findFilesWithKey(
  folder: string,
  { key, files, depth = 0 }: FileQuery,
): Promise<readonly string[]> {
  const paths = listFiles(folder, depth).filter((path) => files.test(path))
  const holding = await Promise.all(paths.slice(0, MAX_FILES).map((path) => fileMayContain(path, key)))
  return paths.filter((_, at) => holding[at] ?? true)
}

/** Whether a word stands in one of these files, or may do so. */
export const folderMayContain = async (folder: string, wish: FileQuery): Promise<boolean> =>
  (await findFilesWithKey(folder, wish)).length > 0

/** Where extensions that are only linked really lie: a file in the folder of each says so. */
export async function findLinkedExtensions(folder: string, about: string): Promise<readonly string[]> {
  const found = await Promise.all(listNames(folder).map((name) => readLinkTarget(join(folder, name, about))))
  return found.filter((path) => path !== undefined)
}

async function readLinkTarget(path: string): Promise<string | undefined> {
  try {
    const said: unknown = JSON.parse((await readNativeFile(path)) ?? '')
    const { type, source } = isJsonObject(said) ? said : {}
    return type === 'link' && typeof source === 'string' ? resolve(source) : undefined
  } catch {
    // There is no such file, or the agent cannot read it either.
    return undefined
  }
}

/** Whether a word stands in a file. One that cannot be read may hold it. */
export async function fileMayContain(path: string, key: string): Promise<boolean> {
  try {
    const text = unescapeText(await readNativeFile(path))
    return (path.endsWith('.md') ? readFrontMatter(text) : text).includes(key)
  } catch {
    return true
  }
}

/** Of a Markdown file only the head is read by agents. Where it ends by any agent's rule, it ends by this one or before. */
function readFrontMatter(text: string): string {
  const written = text.trimStart()
  const end = written.startsWith('---') ? /\n---\r?(\n|$)/.exec(written) : null
  return end === null ? written : written.slice(0, end.index)
}

const ESCAPED = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|u\{([\da-fA-F]{1,6})\})/g

/** Without the escapes with which JSON, YAML and TOML can hide a word. */
function unescapeText(text = ''): string {
  return text.replace(/\\\r?\n[ \t]*/g, '').replace(ESCAPED, (whole, ...codes: readonly (string | undefined)[]) => {
    const code = Number.parseInt(codes.slice(0, 4).find((digits) => digits !== undefined) ?? '', 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

/** Links are followed, as agents do. */
function listFiles(folder: string, depth: number): readonly string[] {
  return listNames(folder).flatMap((name) => {
    const path = join(folder, name)
    const stats = tryStat(path)
    if (stats === undefined) return []
    if (!stats.isDirectory()) return [path]
    return depth > 0 && name !== 'node_modules' && name !== '.git' ? listFiles(path, depth - 1) : []
  })
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    // There is no such folder, or the agent cannot read it either.
    return []
  }
}

function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
