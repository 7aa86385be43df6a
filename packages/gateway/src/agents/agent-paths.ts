import { posix, win32 } from 'node:path'
import type { HostContext, NativeFile } from './agent-adapter.ts'

/** Joined as the place's platform does it. */
export function joinPath({ platform }: Pick<HostContext, 'platform'>, ...parts: readonly string[]): string {
  return platform === 'win32' ? win32.join(...parts) : posix.join(...parts)
}

export const homePath = (place: HostContext, ...parts: readonly string[]): string =>
  joinPath(place, place.home, ...parts)

/** A folder that a variable may name, else one of the home. */
export function folderFromVariable(place: HostContext, variable: string, ...fallback: readonly string[]): string {
  return pathFromVariable(place, variable) ?? homePath(place, ...fallback)
}

/** What a variable names, seen from the folder in which the agent would start; nothing where it is not set. */
export function pathFromVariable({ environment, platform, cwd }: HostContext, variable: string): string | undefined {
  const value = environment[variable]
  if (!value) return undefined
  return platform === 'win32' ? win32.resolve(cwd, value) : posix.resolve(cwd, value)
}

/** $XDG_CONFIG_HOME, else ~/.config: for programs that use it on every platform. */
export function xdgConfig(place: HostContext): string {
  const value = place.environment.XDG_CONFIG_HOME ?? ''
  // The XDG base directory specification: a relative path is invalid and is to be ignored.
  const isAbsolute = place.platform === 'win32' ? win32.isAbsolute(value) : posix.isAbsolute(value)
  return isAbsolute ? value : homePath(place, '.config')
}

/** Where desktop programs of the platform keep their settings. */
export function applicationData(place: HostContext): string {
  if (place.platform === 'darwin') return homePath(place, 'Library', 'Application Support')
  if (place.platform === 'win32') return folderFromVariable(place, 'APPDATA', 'AppData', 'Roaming')
  return xdgConfig(place)
}

interface SystemNames {
  readonly name: string
  /** On macOS. */
  readonly title: string
  /** Each may name a file in another folder. */
  readonly variables: readonly string[]
}

/** Where an administrator's settings for an agent may be. */
export function systemFolders(place: HostContext, { name, title, variables }: SystemNames): readonly string[] {
  const { dirname } = place.platform === 'win32' ? win32 : posix
  const named = variables.flatMap((variable) => pathFromVariable(place, variable) ?? []).map((path) => dirname(path))
  if (place.platform === 'darwin') return [`/Library/Application Support/${title}`, ...named]
  return [place.platform === 'win32' ? `C:\\ProgramData\\${name}` : `/etc/${name}`, ...named]
}

export const userFile = (path: string): NativeFile => ({ path, scope: 'user' })

export const projectFile = (place: HostContext, ...parts: readonly string[]): NativeFile => ({
  path: joinPath(place, place.cwd, ...parts),
  scope: 'project',
})
