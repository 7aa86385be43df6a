import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root folder of this package. It is the same whether the code was built file by file or bundled into one file. */
export const PACKAGE_ROOT: string = findPackageRoot(dirname(fileURLToPath(import.meta.url)))

/** The main program, for code that has to start it again. */
export const MAIN_FILE: string = join(PACKAGE_ROOT, 'dist/cli/main.js')

/** The program of the thread that checks arguments. A thread needs a file of its own, even if the rest is bundled. */
export const SCHEMA_THREAD_FILE: string = join(PACKAGE_ROOT, 'dist/governance/schema-check/schema-thread.js')

function findPackageRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageRoot(dirname(folder))
}
