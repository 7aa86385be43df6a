import { readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import type { HostContext, NativeServer } from './agent-adapter.ts'
import type { ParsedNativeFile } from './agent-overlay.ts'
import { readNativeFile } from './files/read-native-file.ts'
import { hasFlag } from './flag-values.ts'

/** A source from which an agent gets MCP servers, and what `run` does linkFile it. docs/agents.md lists them all. */
export interface ServerSource {
  readonly name: string
  /**
   * `closed`: disabled with the agent's own options; `refused`: `run` fails if it has servers; `open`: it stays active.
   */
  readonly state: 'closed' | 'refused' | 'open'
  /** How it is closed, what is refused, or what stays, in few words. */
  readonly mechanism: string
  /** The files, flags and variables that now give the agent such servers, as a person would search for them. */
  find?(search: SourceSearch): readonly string[] | Promise<readonly string[]>
}

export interface SourceSearch {
  readonly host: HostContext
  /** The folders whose project files may apply, the outermost first. */
  readonly folders: readonly string[]
  /** The arguments of the agent, up to `--`. */
  readonly args: readonly string[]
  readonly native: readonly ParsedNativeFile[]
  /** The servers that the launch gives the agent; empty while they are not known. */
  readonly servers: readonly NativeServer[]
}

/** Everything that would give the agent other servers than those of the launch. */
export async function findOtherServers(
  sources: readonly ServerSource[],
  search: SourceSearch,
): Promise<readonly string[]> {
  const found = await Promise.all(sources.map((source) => source.find?.(search) ?? []))
  return [...new Set(found.flat())]
}

/**
 * The working folder, the folders that the arguments name, and all their parent folders: many agents have a flag to
 * work in another folder, each a different one.
 */
export function projectFolders(cwd: string, args: readonly string[]): readonly string[] {
  const named = args.flatMap(possiblePaths).map((value) => resolve(cwd, value))
  // If the path is a link, an agent may use the parents of the real path.
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
    // The folder does not exist, or cannot be accessed.
    return path
  }
}

function possiblePaths(arg: string): readonly string[] {
  if (arg.length > 4_096) return []
  if (!arg.startsWith('-')) return [arg]
  const at = arg.indexOf('=')
  return [arg.slice(2), ...(at < 0 ? [] : [arg.slice(at + 1)])].filter((value) => value !== '')
}

/** From the outermost to the innermost, which takes precedence. */
function withParents(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [...withParents(parent), folder]
}

/** A program that controls the agent through one of these flags or commands can give it other servers. */
export const drivingProgramSource = (...words: readonly string[]): ServerSource => ({
  name: 'a program that drives it',
  state: 'refused',
  mechanism: words.map((word) => `\`${word}\``).join(', '),
  find: ({ args }) => words.filter((word) => (word.startsWith('--') ? hasFlag(args, word) : args.includes(word))),
})

/**
 * Flags that make an agent work in the folder of an earlier session, or in a new one: those folders are not searched.
 */
export const resumedSessionSource = (...flags: readonly string[]) => ({
  name: 'sessions that are resumed',
  state: 'refused' as const,
  mechanism: `${flags.map((flag) => `\`${flag}\``).join(', ')}: they work in another folder, which is not searched`,
  find: ({ args }: Pick<SourceSearch, 'args'>): readonly string[] => flags.filter((flag) => hasFlag(args, flag)),
})

/** Project files with servers, which the agent always starts. */
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
  /** The key under which these files define servers. */
  readonly key: string
  readonly files: RegExp
  /** The maximum depth of subfolders. */
  readonly depth?: number
}

const MAX_FILES = 10_000

/** The files in a folder that may define servers. An unreadable file is included, because it may define some. */
export async function findFilesWithKey(
  folder: string,
  { key, files, depth = 0 }: FileQuery,
): Promise<readonly string[]> {
  const paths = listFiles(folder, depth).filter((path) => files.test(path))
  const mayContain = await Promise.all(paths.slice(0, MAX_FILES).map((path) => fileMayContain(path, key)))
  return paths.filter((_, at) => mayContain[at] ?? true)
}

/** Whether one of these files may contain the word. */
export const folderMayContain = async (folder: string, query: FileQuery): Promise<boolean> =>
  (await findFilesWithKey(folder, query)).length > 0

/** The real folders of linked extensions: a file in the folder of each contains the path. */
export async function findLinkedExtensions(folder: string, linkFile: string): Promise<readonly string[]> {
  const found = await Promise.all(listNames(folder).map((name) => readLinkTarget(join(folder, name, linkFile))))
  return found.filter((path) => path !== undefined)
}

async function readLinkTarget(path: string): Promise<string | undefined> {
  try {
    const parsed: unknown = JSON.parse((await readNativeFile(path)) ?? '')
    const { type, source } = isJsonObject(parsed) ? parsed : {}
    return type === 'link' && typeof source === 'string' ? resolve(source) : undefined
  } catch {
    // There is no such file, or the agent cannot read it either.
    return undefined
  }
}

/** Whether a file contains a word; `true` if it cannot be read. */
export async function fileMayContain(path: string, key: string): Promise<boolean> {
  try {
    const text = unescapeText(await readNativeFile(path))
    return (path.endsWith('.md') ? readFrontMatter(text) : text).includes(key)
  } catch {
    return true
  }
}

/** Agents read only the front matter of a Markdown file. Under the rules of any agent it ends here or earlier. */
function readFrontMatter(text: string): string {
  const trimmed = text.trimStart()
  const end = trimmed.startsWith('---') ? /\n---\r?(\n|$)/.exec(trimmed) : null
  return end === null ? trimmed : trimmed.slice(0, end.index)
}

const ESCAPED = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|u\{([\da-fA-F]{1,6})\})/g

/** Decodes the escapes of JSON, YAML and TOML, which could hide a word. */
function unescapeText(text = ''): string {
  return text.replace(/\\\r?\n[ \t]*/g, '').replace(ESCAPED, (whole, ...codes: readonly (string | undefined)[]) => {
    const code = Number.parseInt(codes.slice(0, 4).find((digits) => digits !== undefined) ?? '', 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

/** Follows links, like agents do. */
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
