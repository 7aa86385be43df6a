/**
 * Words that a reader would have to learn here, and the usual ones to write instead (docs/glossary.md).
 *
 *   node lint/words.mjs [folder …]      prints each place; fails if there is one
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Names: of types, functions, variables. */
const NAMES = [
  [/\b(?:MOST|LEAST|LONGEST|DEEPEST)_[A-Z_]+/, 'MAX_…, MIN_…'],
  [/\b[A-Z_]*(?:PATIENCE|FAREWELL)[A-Z_]*\b|\b\w*[pP]atience\b/, '…_TIMEOUT_MS, timeoutMs'],
  [/\b[A-Z]\w*(?:Wish|Sight|Keeper|Desk)\b/, '…Options, …Query, …View, …Editor, …Store'],
  [/\b(?:Told|Said|Heard|Handed|Retold)\b(?=\s*(?:[={<(|]|extends))/, 'a noun: Notice, Reply, Update'],
  [/\b\w*[fF]laws?(?:In|Of|s)?\b(?=\s*[:=(,)])/, 'problem'],
  [/\b(?:on|#)[tT]rouble\w*\b/, 'onWarning, problem'],
  [/\b\w*(?:[sS]helf|[sS]helves)\b/, '…Store'],
  [/\b(?:say|tell)[A-Z]\w*\b/, 'describe…, report…, send…, log…'],
  [/\b(?:doubts(?:Of)?|\w+Doubts)\b/, 'openFindings, problems'],
  [/\breadonly most\??:/, 'max…'],
  [/\b(?:lookAgain|judgeAgain|secondLook|underWay)\b/, 'recheck, inFlight'],
]

/** Prose: comments, messages, titles of tests, pages. */
const PROSE = [
  [/\bat the (?:most|least)\b/i, 'at most, at least'],
  [/\bunder way\b/i, 'in flight, pending, running'],
  [/\b(?:stands?|lies?|lay|stood) in\b/i, 'is in, is defined in'],
  [/\bflaws?\b/i, 'problem, error'],
  [/\btroubles?\b/i, 'problem, warning'],
  [/\btwins?\b/i, 'duplicate, counterpart'],
  [/\bis no (?:time|name|number|text|object|list|path|URL|duration|port|address)\b/i, 'is not a valid …'],
  [/\bis too much\b/i, 'unexpected argument'],
  [/\b(?:must be|is not|is no) (?:a )?text\b/i, 'string'],
  [/\b(?:nothing|none) where\b/i, 'undefined if'],
  [/\btells? nothing\b|\bsays? nothing\b/i, 'say what is missing'],
  [/\blooks? again\b|\bsecond look\b|\bjudged? again\b/i, 'recheck'],
  [/\bwithout a word\b/i, 'without an error message'],
  [/\ba slip\b|\bslips of the\b/i, 'misspelt, a typo'],
  [/\bis called by\b/i, 'matches'],
  [/\bvouch(?:es)? for\b/i, 'trust'],
]

/** Where a word means itself: the tables that name it, and records that keep their spelling. */
const EXEMPT =
  /^(?:lint\/words\.mjs|tests\/pages\/words\.test\.ts|docs\/glossary\.md|docs\/(?:context-)?benchmarks\.md|package-lock\.json|tests\/fixtures\/.*|packages\/gateway\/ui\/.*)$/
const SKIPPED = new Set(['node_modules', 'dist', '.git', '.conformance', '.stryker', 'ui'])

/**
 * @param {string} file from the root of the repository
 * @param {string} content
 * @returns {readonly { readonly file: string; readonly line: number; readonly word: string; readonly instead: string }[]}
 */
export function findWords(file, content) {
  if (EXEMPT.test(file)) return []
  const isCode = /\.(?:ts|tsx|mjs)$/.test(file)
  const found = []
  for (const [index, text] of content.split('\n').entries()) {
    const rules = isCode
      ? [...NAMES.map((rule) => [rule, text]), ...PROSE.map((rule) => [rule, proseOf(text)])]
      : PROSE.map((rule) => [rule, text.replaceAll(/`[^`]*`/g, '')])
    for (const [[pattern, instead], where] of rules) {
      const word = pattern.exec(where)?.[0]
      if (word !== undefined) found.push({ file, line: index + 1, word, instead })
    }
  }
  return found
}

/** What of a line of code is for people: its comment, and its strings. */
function proseOf(line) {
  const comment = /(?:^\s*\*|\/\*\*?|\/\/)(.*)$/.exec(line)?.[1] ?? ''
  const strings = [...line.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)]
  return [comment, ...strings.map(([, a, b, c]) => a ?? b ?? c ?? '')].join('\n')
}

function filesBelow(path) {
  if (/\.(?:ts|tsx|mjs|md)$/.test(path)) return [path]
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const below = join(path, entry.name)
    if (entry.isDirectory()) return filesBelow(below)
    return /\.(?:ts|tsx|mjs|md)$/.test(entry.name) ? [below] : []
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folders = process.argv.length > 2 ? process.argv.slice(2) : ['.']
  const paths = folders.flatMap((folder) => filesBelow(join(ROOT, folder)))
  const found = paths.flatMap((path) => findWords(relative(ROOT, path), readFileSync(path, 'utf8')))
  for (const { file, line, word, instead } of found) console.error(`${file}:${line}: "${word}"; write: ${instead}`)
  if (found.length > 0) console.error(`${found.length} places. Plain words: docs/glossary.md, CONTRIBUTING.md`)
  process.exitCode = found.length > 0 ? 1 : 0
}
