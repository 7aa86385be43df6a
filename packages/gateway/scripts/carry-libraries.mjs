// Copies core and the kit into dist/packages, and makes every file of dist import them from there. Neither is in the
// registry, and npm's own means for that (bundleDependencies) leaves out packages which the bundled ones need as well:
// docs/decisions/0017-packed-gateway.md.
//
//   node scripts/carry-libraries.mjs          after tsc; a second run changes nothing
//   node scripts/carry-libraries.mjs check    before packing: is everything built?
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const GATEWAY = fileURLToPath(new URL('..', import.meta.url))
const DIST = join(GATEWAY, 'dist')
const CARRIED = join(DIST, 'packages')
const BUILT = ['dist/index.js', 'dist/cli/joined', 'dist/packages/kit/index.js', 'ui/index.html']
/** The kit's client brings the MCP SDK along, which the gateway does without (decision 1). */
const CLIENT_EXPORTS = /^export \{[^}]*\} from '\.\/client\/client\.[jt]s';\n/gm
const IMPORTED = /(\bfrom |\bimport\(|\bimport )(['"])([^'"\n]+)\2/g

const manifest = readManifest(GATEWAY)
const installed = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }))
const libraries = new Map(
  ['core', 'kit'].map((folder) => {
    const root = join(GATEWAY, '..', folder)
    const { name, exports } = readManifest(root)
    return [name, { folder, root, exports }]
  }),
)

if (process.argv[2] === 'check') checkBuilt()
else carryLibraries()

function checkBuilt() {
  const missing = BUILT.find((file) => !existsSync(join(GATEWAY, file)))
  if (missing !== undefined) {
    process.stderr.write(`packages/gateway/${missing} is missing. Run \`npm run build\` in the repository first.\n`)
    process.exitCode = 1
  }
}

function carryLibraries() {
  rmSync(CARRIED, { recursive: true, force: true })
  const written = new Set()
  for (const file of codeFiles(DIST)) {
    const text = readFileSync(file, 'utf8')
    const changed = redirectImports(text, { file, written })
    if (changed !== text) writeFileSync(file, changed)
  }
}

/** The text with imports of our libraries led to the copies, which are made on the way. */
function redirectImports(text, { file, written }) {
  return text.replace(IMPORTED, (whole, before, quote, specifier) => {
    const source = librarySource(specifier, file)
    if (source === undefined) return whole
    const copy = carryFile(file.endsWith('.d.ts') ? source.replace(/\.js$/, '.d.ts') : source, written)
    const path = relative(dirname(file), copy).replace(/\.d\.ts$/, '.js')
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`
  })
}

/** The library's file behind an import: by its package's name, or by a path that an earlier run has put there. */
function librarySource(specifier, file) {
  const path = join(dirname(file), specifier)
  if (specifier.startsWith('.') && path.startsWith(`${CARRIED}/`) && !file.startsWith(`${CARRIED}/`)) {
    const [folder, ...rest] = relative(CARRIED, path).split('/')
    return join(GATEWAY, '..', folder, 'dist', ...rest)
  }
  const library = libraries.get(specifier.split('/').slice(0, 2).join('/'))
  if (library === undefined) return undefined
  const exported = library.exports[['.', ...specifier.split('/').slice(2)].join('/')]
  if (exported === undefined) throw new Error(`${specifier} is not exported`)
  return join(library.root, exported.default)
}

/** Copies a file of a library, and all that it imports. Returns where the copy is. */
function carryFile(source, written) {
  const { folder, root } = [...libraries.values()].find((library) => source.startsWith(join(library.root, 'dist/')))
  const copy = join(CARRIED, folder, relative(join(root, 'dist'), source))
  if (written.has(copy)) return copy
  written.add(copy)
  const text = readFileSync(source, 'utf8').replace(CLIENT_EXPORTS, '')
  for (const [, , , specifier] of text.matchAll(IMPORTED)) {
    if (specifier.startsWith('.')) carryFile(importedFile(source, specifier), written)
    else checkInstalled(specifier, source)
  }
  mkdirSync(dirname(copy), { recursive: true })
  writeFileSync(copy, redirectImports(text, { file: copy, written }))
  return copy
}

/** Declarations name the sources (`.ts`), code what was made of them (`.js`). */
function importedFile(source, specifier) {
  return join(dirname(source), specifier).replace(/\.[jt]s$/, source.endsWith('.d.ts') ? '.d.ts' : '.js')
}

/** What a copied file needs has to be a dependency of the gateway: the library's own manifest does not come along. */
function checkInstalled(specifier, source) {
  const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0]
  if (isBuiltin(specifier) || installed.has(name) || libraries.has(name)) return
  throw new Error(`${relative(join(GATEWAY, '..'), source)} needs ${name}, which is not a dependency of the gateway`)
}

function codeFiles(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /(\.js|\.d\.ts)$/.test(name)).map((name) => join(folder, name))
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
