/**
 * Writes docs/api/: what the packages export, with the sentences that stand above it in the source. Made from the
 * declarations that `tsc` emits, which are regular enough to be read by lines: TypeScript 7 has no API for compilers.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** @type {readonly { readonly folder: string, readonly page: string }[]} */
export const PAGES = [
  { folder: 'packages/kit', page: 'docs/api/kit.md' },
  { folder: 'packages/gateway', page: 'docs/api/gateway.md' },
]

/**
 * @typedef {object} Symbol
 * @property {string} name
 * @property {string} sentence Empty if there is none.
 * @property {string} declaration
 */

/**
 * The entry points of a package, and what each exports, by name.
 * @param {string} folder
 * @returns {readonly { readonly entry: string, readonly symbols: readonly Symbol[] }[]}
 */
export function readPackage(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  return Object.entries(exports).map(([path, { types }]) => ({
    entry: join(name, path),
    symbols: [...exportsOf(join(ROOT, folder, types))]
      .map(([exported, found]) => ({ ...found, name: exported }))
      .sort((a, b) => compare(a.name, b.name)),
  }))
}

/**
 * @param {string} folder
 * @returns {string} The page of a package.
 */
export function renderPackage(folder) {
  const { name, description } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  const entries = readPackage(folder).map(
    ({ entry, symbols }) => `## \`${entry}\`\n\n${symbols.map(render).join('\n')}`,
  )
  const note = 'Made by `npm run docs:api` from the types; a test fails when it is out of date.'
  return `# API of \`${name}\`\n\n${description}. ${note}\n\n${entries.join('\n')}`
}

/** @param {Symbol} symbol */
const render = ({ name, sentence, declaration }) =>
  `### \`${name}\`\n\n${sentence}\n\n\`\`\`ts\n${declaration}\n\`\`\`\n`

/** @param {string} a @param {string} b */
const compare = (a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)

/**
 * @param {string} file A file of declarations.
 * @returns {Map<string, { sentence: string, declaration: string }>}
 */
function exportsOf(file) {
  const found = new Map()
  for (const { comment, code } of statementsOf(readFileSync(file, 'utf8'))) {
    const passedOn = /^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?;$/.exec(code)
    if (passedOn) {
      const [, list = '', from] = passedOn
      for (const [name, as] of namesIn(list)) found.set(as, exportsOf(sourceOf(file, from ?? '', name)).get(name))
      continue
    }
    const name = /^export (?:declare )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/.exec(code)?.[1]
    if (name === undefined) continue
    const before = found.get(name)
    const declaration = before ? `${before.declaration}\n${tidy(code)}` : tidy(code)
    found.set(name, { sentence: before?.sentence || proseOf(comment), declaration })
  }
  return found
}

/**
 * @param {string} list What stands between the braces of an export.
 * @returns {readonly (readonly [name: string, as: string])[]}
 */
function namesIn(list) {
  return list
    .split(',')
    .map((item) => item.trim().replace(/^type /, ''))
    .filter((item) => item !== '')
    .map((item) => {
      const [name = '', as = name] = item.split(' as ')
      return [name, as]
    })
}

/**
 * The file that a name comes from.
 * @param {string} file
 * @param {string} from Empty where the file has imported it itself.
 * @param {string} name
 */
function sourceOf(file, from, name) {
  if (from === '') {
    const imports = readFileSync(file, 'utf8').matchAll(/^import (?:type )?\{([^}]*)\} from '([^']+)';$/gm)
    for (const [, list = '', source = ''] of imports)
      if (namesIn(list).some(([, as]) => as === name)) return sourceOf(file, source, name)
    throw new Error(`${file}: nothing is known of ${name}`)
  }
  if (from.startsWith('@sallyport/')) return join(ROOT, 'packages', from.slice(11), 'dist/index.d.ts')
  return resolve(dirname(file), from.replace(/\.[jt]s$/, '.d.ts'))
}

/**
 * `tsc` indents what is inside a statement, so one ends with the first line at the margin that can be its last.
 * @param {string} text
 */
function statementsOf(text) {
  const statements = []
  let comment = ''
  let code = ''
  for (const line of text.split('\n')) {
    if (code === '' && /^(\/\*\*| \*)/.test(line)) comment = line.startsWith('/**') ? line : `${comment}\n${line}`
    else if (line !== '') {
      code = code === '' ? line : `${code}\n${line}`
      if (!/^\S.*;$|^\}$/.test(line)) continue
      statements.push({ comment, code })
      comment = code = ''
    }
  }
  return statements
}

/** @param {string} comment */
function proseOf(comment) {
  return comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^ \* ?/, '').trim())
    .join('\n')
    .trim()
}

/** @param {string} code */
function tidy(code) {
  return code
    .replace(/^export (declare )?/, '')
    .replace(/^ +#private;\n/gm, '')
    .replace(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const { folder, page } of PAGES) {
    if (!existsSync(dirname(join(ROOT, page)))) mkdirSync(dirname(join(ROOT, page)))
    writeFileSync(join(ROOT, page), renderPackage(folder))
  }
