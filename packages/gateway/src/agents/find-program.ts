import { accessSync, constants, statSync } from 'node:fs'
import { posix, win32 } from 'node:path'
import type { HostContext } from './agent-adapter.ts'

/** File name extensions of programs on Windows. */
const WINDOWS_ENDINGS = ['.exe', '.cmd', '.bat']

/** Finds a program in PATH. Relative folders in PATH are skipped: anybody may have put a program there. */
export function findProgram(
  name: string,
  { environment, platform }: Pick<HostContext, 'environment' | 'platform'>,
): string | undefined {
  const { delimiter, isAbsolute, join } = platform === 'win32' ? win32 : posix
  const folders = (environment.PATH ?? environment.Path ?? '').split(delimiter).filter((folder) => isAbsolute(folder))
  const names = platform === 'win32' ? WINDOWS_ENDINGS.map((ending) => `${name}${ending}`) : [name]
  return folders.flatMap((folder) => names.map((file) => join(folder, file))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
