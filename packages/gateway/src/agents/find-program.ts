import { accessSync, constants, statSync } from 'node:fs'
import { posix, win32 } from 'node:path'
import type { HostContext } from './agent-adapter.ts'

/** What Windows adds to the name of a program. */
const WINDOWS_ENDINGS = ['.exe', '.cmd', '.bat']

/** Where a program is that people start by its name. Relative folders in PATH are not looked into: they are anybody's. */
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
