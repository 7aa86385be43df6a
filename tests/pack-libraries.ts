import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './repository.ts'

const run = promisify(execFile)

/** What the registry would give of core and the kit: core first, since the kit needs it. */
export async function packLibraries(folder: string): Promise<readonly string[]> {
  const packages = ['core', 'kit'].flatMap((name) => ['-w', join('packages', name)])
  const { stdout } = await run('npm', ['pack', '--json', ...packages, '--pack-destination', folder], { cwd: ROOT })
  const packed = JSON.parse(stdout) as readonly { readonly filename: string }[]
  return packed.map(({ filename }) => join(folder, filename))
}
