import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const NOT_OURS = new Set(['node_modules', 'dist', 'ui', 'coverage', '.git', '.sallyport-demo', '.stryker'])
/** Tests that run programs inside the repository create these, and remove them while other tests read the tree. */
const TEMPORARY = /^\.embedding-/

/** The paths of all files below a folder of the repository, from its root. What is built or installed is left out. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name) && !TEMPORARY.test(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesBelow(path) : [path]
    })
}

export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
