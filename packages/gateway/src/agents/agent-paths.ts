import { posix, win32 } from 'node:path'
import type { HostContext, NativeFile } from './agent-adapter.ts'

/** Joins with the separator of the host's platform. */
export function joinPath({ platform }: Pick<HostContext, 'platform'>, ...parts: readonly string[]): string {
  return platform === 'win32' ? win32.join(...parts) : posix.join(...parts)
}

export const homePath = (host: HostContext, ...parts: readonly string[]): string => joinPath(host, host.home, ...parts)

/** The folder that a variable names, or a default folder in the home. */
export function folderFromVariable(host: HostContext, variable: string, ...fallback: readonly string[]): string {
  return pathFromVariable(host, variable) ?? homePath(host, ...fallback)
}

/** The path in a variable, resolved from the agent's working folder; `undefined` if it is not set. */
export function pathFromVariable({ environment, platform, cwd }: HostContext, variable: string): string | undefined {
  const value = environment[variable]
  if (!value) return undefined
  return platform === 'win32' ? win32.resolve(cwd, value) : posix.resolve(cwd, value)
}

/** $XDG_CONFIG_HOME or ~/.config, for programs that use it on every platform. */
export function xdgConfig(host: HostContext): string {
  const value = host.environment.XDG_CONFIG_HOME ?? ''
  // The XDG base directory specification: a relative path is invalid and is to be ignored.
  const isAbsolute = host.platform === 'win32' ? win32.isAbsolute(value) : posix.isAbsolute(value)
  return isAbsolute ? value : homePath(host, '.config')
}

/** The folder in which desktop programs of the platform store their settings. */
export function applicationData(host: HostContext): string {
  if (host.platform === 'darwin') return homePath(host, 'Library', 'Application Support')
  if (host.platform === 'win32') return folderFromVariable(host, 'APPDATA', 'AppData', 'Roaming')
  return xdgConfig(host)
}

interface SystemNames {
  readonly name: string
  /** On macOS. */
  readonly title: string
  /** Each may contain the path of a file in another folder. */
  readonly variables: readonly string[]
}

/** Folders that may contain an administrator's settings for an agent. */
export function systemFolders(host: HostContext, { name, title, variables }: SystemNames): readonly string[] {
  const { dirname } = host.platform === 'win32' ? win32 : posix
  const named = variables.flatMap((variable) => pathFromVariable(host, variable) ?? []).map((path) => dirname(path))
  if (host.platform === 'darwin') return [`/Library/Application Support/${title}`, ...named]
  return [host.platform === 'win32' ? `C:\\ProgramData\\${name}` : `/etc/${name}`, ...named]
}

export const userFile = (path: string): NativeFile => ({ path, scope: 'user' })

export const projectFile = (host: HostContext, ...parts: readonly string[]): NativeFile => ({
  path: joinPath(host, host.cwd, ...parts),
  scope: 'project',
})
