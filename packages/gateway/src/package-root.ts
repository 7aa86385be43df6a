import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this package, wherever in it the running file lies: built file by file, or joined into one. */
export const PACKAGE_ROOT: string = findPackageRoot(dirname(fileURLToPath(import.meta.url)))

/** The program itself, for whoever has to start it again. */
export const MAIN_FILE: string = join(PACKAGE_ROOT, 'dist/cli/main.js')

/** The program of the thread that checks arguments. A thread starts from a file of its own, which what is joined has not. */
export const SCHEMA_THREAD_FILE: string = join(PACKAGE_ROOT, 'dist/governance/schema-check/schema-thread.js')

function findPackageRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageRoot(dirname(folder))
}
