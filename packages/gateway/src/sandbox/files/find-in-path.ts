import { accessSync, constants, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

/** The program with this name in PATH. Relative folders in PATH are skipped: anybody may have put a program there. */
export function findInPath(name: string, path: string | undefined): string | undefined {
  const folders = (path ?? '/usr/local/bin:/usr/bin:/bin').split(':').filter((folder) => isAbsolute(folder))
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
