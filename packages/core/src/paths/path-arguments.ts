import type { Json, JsonObject } from '../json/json.ts'
import { entriesOf, type FieldPath, readFieldPath, stepInto } from '../policy/field-path.ts'
import { expandItems, expandMember, expandSchema, hasFormat, type SchemaBranches } from '../schema/schema-branches.ts'
import { excerpt } from '../text/excerpt.ts'
import type { FoundPath } from './found-path.ts'
import { isFileUri } from './path-interpretations.ts'

const PATH_FORMATS: ReadonlySet<string> = new Set(['uri-reference', 'uri', 'path', 'file-path', 'directory-path'])
/** Each path is interpreted in several ways and looked up on the disk, so their total is limited. */
const MAX_PATHS = 1000
const MAX_CHARACTERS = 128 * 1024
const MAX_MEMBERS = 100_000
const MAX_DEPTH = 128
const MAX_LOCATION_LENGTH = 200

/** A value in the tree of arguments. */
interface ArgumentNode {
  readonly value: Json | undefined
  readonly key: string | number
  readonly parent: ArgumentNode | undefined
  readonly depth: number
  /** `named`: the operator or the schema declares it to be a path. */
  readonly hint: PathHint | 'named'
  readonly schemas: SchemaBranches
  /** What remains of the operator's `path_arguments` below this node. */
  readonly fields: readonly FieldPath[]
}

/**
 * Finds every argument that contains a path. With `path_arguments` these are the named ones and all `file:` URIs.
 * Otherwise they are recognized by the schema, by their names and by their values. Keys of maps are not paths.
 */
export function findPaths(
  args: JsonObject,
  schema: Json | undefined,
  pathArguments?: readonly string[],
): readonly FoundPath[] {
  const finder = new PathFinder(schema, pathArguments === undefined ? guessPathHint : () => 'none')
  const schemas = pathArguments === undefined ? expandSchema(schema, schema) : []
  const fields = (pathArguments ?? []).map(readFieldPath)
  return finder.find({ value: args, key: '', parent: undefined, depth: 0, hint: 'none', schemas, fields })
}

/** The path in the URI of a resource: only `file:` URIs contain one. */
export const findUriPaths = (uri: string): readonly FoundPath[] =>
  isFileUri(uri) ? [{ where: 'uri', value: uri }] : []

class PathFinder {
  readonly #schema: Json | undefined
  readonly #hintOf: (key: string) => PathHint
  #found: FoundPath[] = []
  #characters = 0
  #members = 0
  #full = false

  constructor(schema: Json | undefined, hintOf: (key: string) => PathHint) {
    this.#schema = schema
    this.#hintOf = hintOf
  }

  find(node: ArgumentNode): readonly FoundPath[] {
    this.#visit(node)
    return this.#found
  }

  #visit(node: ArgumentNode): void {
    const { value, hint } = node
    if (this.#full || value === null || value === undefined) return
    if (typeof value === 'string') {
      if (holdsPath(value, hint)) this.#add(node, { value })
    } else if (typeof value !== 'object') {
      if (hint === 'named' || (hint === 'sure' && typeof value === 'number'))
        this.#add(node, { problem: `it is a ${typeof value}, and a path must be a string` })
    } else if (node.depth >= MAX_DEPTH) this.#add(node, { problem: `it is nested over ${MAX_DEPTH} levels deep` })
    else this.#descend(node, value)
  }

  #descend(node: ArgumentNode, value: readonly Json[] | JsonObject): void {
    if (isArray(value)) return this.#visitItems(node, value)
    const before = this.#found.length
    const members = entriesOf(value)
    this.#members += members.length
    if (this.#members > MAX_MEMBERS) return this.#giveUp(node, `there are over ${MAX_MEMBERS} arguments`)
    for (const [key, member] of members) this.#visit(this.#member(node, member, key))
    if (this.#full) return
    const pathExpected = node.hint === 'named' || node.hint === 'sure'
    if (pathExpected && (this.#found.length === before || Object.keys(value).some((key) => /[\\/]/.test(key))))
      this.#add(node, { problem: 'it is an object, and a path must be a string' })
  }

  /** Items have the name of their array. */
  #visitItems(parent: ArgumentNode, items: readonly Json[]): void {
    const schemas = parent.schemas.length === 0 ? parent.schemas : expandItems(parent.schemas, this.#schema)
    const depth = parent.depth + 1
    for (const [key, value] of items.entries()) {
      const fields = parent.fields.length === 0 ? parent.fields : stepIntoAll(parent.fields, `${key}`)
      const hint = isDeclaredPath(fields, schemas) ? 'named' : parent.hint
      this.#visit({ value, key, parent, depth, hint, schemas, fields })
    }
  }

  #member(parent: ArgumentNode, value: Json | undefined, key: string): ArgumentNode {
    const fields = parent.fields.length === 0 ? parent.fields : stepIntoAll(parent.fields, key)
    const schemas = parent.schemas.length === 0 ? parent.schemas : expandMember(parent.schemas, key, this.#schema)
    const hint = isDeclaredPath(fields, schemas) ? 'named' : this.#hintOf(key)
    return { value, key, parent, depth: parent.depth + 1, hint, schemas, fields }
  }

  #add(node: ArgumentNode, what: { readonly value: string } | { readonly problem: string }): void {
    if (this.#found.length === MAX_PATHS) return this.#giveUp(node, `there are over ${MAX_PATHS} paths`)
    this.#characters += 'value' in what ? what.value.length : 0
    if (this.#characters > MAX_CHARACTERS)
      return this.#giveUp(node, `the paths are over ${MAX_CHARACTERS} characters long together`)
    this.#found.push({ where: formatLocation(node), ...what })
  }

  /** The rest was not checked and may contain anything, so one problem replaces all findings. */
  #giveUp(node: ArgumentNode, problem: string): void {
    this.#full = true
    this.#found = [{ where: formatLocation(node), problem }]
  }
}

const isArray = (value: readonly Json[] | JsonObject): value is readonly Json[] => Array.isArray(value)

function holdsPath(value: string, hint: ArgumentNode['hint']): boolean {
  if (hint === 'named' || hint === 'sure' || hint === 'likely') return true
  return isFileUri(value) || (hint === 'maybe' && looksLikePath(value))
}

const stepIntoAll = (fields: readonly FieldPath[], key: string): readonly FieldPath[] =>
  fields.map((field) => stepInto(field, key)).filter((field) => field !== undefined)

const isDeclaredPath = (fields: readonly FieldPath[], schemas: SchemaBranches): boolean =>
  fields.some((field) => field.length === 0) || hasFormat(schemas, PATH_FORMATS)

/** The location as a person would write it. Keys are text of the caller, so they are made harmless. */
function formatLocation(node: ArgumentNode): string {
  let where = ''
  for (let at: ArgumentNode | undefined = node; at?.parent !== undefined; at = at.parent)
    where = typeof at.key === 'number' ? `[${at.key}]${where}` : `${at.parent.parent ? '.' : ''}${at.key}${where}`
  return excerpt(where, MAX_LOCATION_LENGTH)
}

/**
 * What the name of an argument says about its value. `sure`: it is always a path. `likely`: it is a path if it is a
 * string. `maybe`: it is a path if it looks like one.
 */
type PathHint = 'sure' | 'likely' | 'maybe' | 'none'

const SURE = wordSet(
  'path paths pathname filepath file files filename filenames dir dirs directory directories dirname folder folders cwd pwd workdir',
)
/** A source may also be a language or a branch, so these words count only at the end of a name. */
const LIKELY = wordSet('source sources destination destinations src dst dest root roots target targets')
const MAYBE = wordSet(
  'from to input inputs output outputs location locations uri uris url urls href base home origin attachment attachments document documents image images script config workspace repo repository project',
)
/** `outfile`, `subdir`, `sourcepath`, written as one word. */
const ENDING = /(?:path|file|filename|dir|directory|folder)s?$/
const NOT_PATH_WORDS = wordSet('profile profiles xpath xpaths jsonpath jsonpaths')
/** After a word for a file, these words describe a property of it, not its path. */
const METADATA_WORDS = wordSet(
  'content contents text data body bytes size count limit max min type types mode encoding charset id ids format ext extension extensions hash digest checksum permission permissions number depth length offset line lines status kind description system version time date created modified separator delimiter',
)

const MAX_NAME_LENGTH = 128
const MAX_PATH_LENGTH = 4096

/** How likely an argument of this name holds a path. */
function guessPathHint(name: string): PathHint {
  const tokens = splitName(name)
  const at = tokens.findLastIndex((token) => SURE.has(token) || (ENDING.test(token) && !NOT_PATH_WORDS.has(token)))
  if (at >= 0 && !tokens.slice(at + 1).some((token) => METADATA_WORDS.has(token)))
    return tokens.every((token) => SURE.has(token)) ? 'sure' : 'likely'
  const last = tokens.at(-1) ?? ''
  if (LIKELY.has(last)) return 'likely'
  return MAYBE.has(last) ? 'maybe' : 'none'
}

/** Whether a value looks like a path, whatever its name is. */
function looksLikePath(value: string): boolean {
  const text = value.trim()
  if (text.length > MAX_PATH_LENGTH) return false
  return /^[/~.\\$]/.test(text) || (/[\\/]/.test(text) && !/\s/.test(text))
}

const splitName = (name: string): readonly string[] =>
  name
    .slice(-MAX_NAME_LENGTH)
    .normalize('NFKC')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((token) => token !== '')

function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}
