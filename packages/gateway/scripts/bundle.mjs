// Puts what is not in the registry into the package for as long as `npm pack` runs: core and kit, which are its
// bundled dependencies, and the licence. In a workspace npm finds only links to them, and does not pack links.
//
//   node scripts/bundle.mjs add | remove
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const gateway = fileURLToPath(new URL('..', import.meta.url))
const packages = join(gateway, '..')
const BUNDLED = ['core', 'kit']
const BUILT = ['core/dist/index.js', 'kit/dist/index.js', 'gateway/dist/cli/main.js', 'gateway/ui/index.html']

const steps = { add, remove }
const step = steps[process.argv[2]]
if (!step) {
  process.stderr.write(`expected add or remove, got ${process.argv[2] ?? 'nothing'}\n`)
  process.exit(2)
}
step()

function add() {
  remove()
  const missing = BUILT.filter((file) => !existsSync(join(packages, file)))
  if (missing.length > 0) {
    process.stderr.write(`packages/${missing[0]} is missing. Run \`npm run build\` in the repository first.\n`)
    process.exit(1)
  }
  try {
    for (const name of BUNDLED) bundle(name)
    cpSync(join(packages, '..', 'LICENSE'), join(gateway, 'LICENSE'))
  } catch (error) {
    // npm does not call us again after a failure, and a copy of core left here would hide the real one.
    remove()
    throw error
  }
}

function bundle(name) {
  const from = join(packages, name)
  const { files } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const folders = files.filter((file) => !file.startsWith('!'))
  for (const file of ['package.json', ...folders]) {
    cpSync(join(from, file), join(gateway, 'node_modules', '@sallyport', name, file), {
      recursive: true,
      filter: (path) => !path.endsWith('.tsbuildinfo'),
    })
  }
}

function remove() {
  rmSync(join(gateway, 'node_modules', '@sallyport'), { recursive: true, force: true })
  rmSync(join(gateway, 'LICENSE'), { force: true })
}
