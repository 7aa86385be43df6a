import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './repository.ts'

const run = promisify(execFile)

/** What the registry would give of core and the kit: core first, since the kit needs it. */
export function packLibraries(folder: string): Promise<readonly string[]> {
  return packPackages(['core', 'kit'], folder)
}

/** What the registry would give of the gateway, with all that it needs of ours. */
export async function packGateway(folder: string): Promise<string> {
  const [tarball = ''] = await packPackages(['gateway'], folder)
  return tarball
}

async function packPackages(names: readonly string[], folder: string): Promise<readonly string[]> {
  const packages = names.flatMap((name) => ['-w', join('packages', name)])
  const { stdout } = await run('npm', ['pack', '--json', ...packages, '--pack-destination', folder], { cwd: ROOT })
  // What prepack prints comes before.
  const packed = JSON.parse(stdout.slice(stdout.search(/^\[/m))) as readonly { readonly filename: string }[]
  return packed.map(({ filename }) => join(folder, filename))
}
