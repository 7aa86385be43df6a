import { didYouMean } from './closest.ts'
import { SallyportError } from './errors.ts'
import { nameGlob } from './glob.ts'
import { BUILT_IN_SERVER, canonicalName, type ToolRef } from './tool.ts'

/** How tools are called on the wire: by server and tool, or by the tool's own name (one upstream only). */
export type Naming = 'prefixed' | 'bare'

export interface NamingOptions {
  readonly naming: Naming
  /** A stable digest of a text, in lower-case hexadecimal. */
  readonly digest: (text: string) => string
}

/** Two names that any agent could take for one another fold to the same text. */
export const foldName = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')

const MAX_LENGTH = 50
const HASH_LENGTH = 8

/** Every tool's name on the wire, looked up in both directions and never parsed. */
export class NameTable {
  readonly #byWire = new Map<string, ToolRef>()
  readonly #wireOf = new Map<string, string>()
  readonly #refs: readonly ToolRef[]
  /** Tools that could not be given a name of their own. */
  readonly unnamed: readonly ToolRef[]

  constructor(refs: readonly ToolRef[], options: NamingOptions) {
    const unnamed: ToolRef[] = []
    const named: ToolRef[] = []
    for (const { ref, wire } of assignNames(refs, options)) {
      if (wire === undefined) {
        unnamed.push(ref)
        continue
      }
      named.push(ref)
      this.#byWire.set(wire, ref)
      this.#wireOf.set(canonicalName(ref), wire)
    }
    this.#refs = named
    this.unnamed = unnamed
  }

  /** The tool behind a name that came over the wire. */
  resolve(wire: string): ToolRef | undefined {
    return this.#byWire.get(wire)
  }

  wireName(ref: ToolRef): string | undefined {
    return this.#wireOf.get(canonicalName(ref))
  }

  /** The tools that a person may have meant: canonical, `server/tool`, wire name, bare name, or a glob over these. */
  find(typed: string): readonly ToolRef[] {
    const exact = this.#byWire.get(typed)
    if (exact !== undefined) return [exact]
    const matches = nameGlob(typed)
    const full = this.#refs.filter((ref) => this.#writings(ref).some(matches))
    if (full.length > 0) return full
    return this.#refs.filter((ref) => matches(ref.tool))
  }

  /** Exactly one tool, or an error that says which names would do. */
  findOne(typed: string): ToolRef {
    const found = this.find(typed)
    if (found.length === 1) return found[0] as ToolRef
    if (found.length > 1) {
      const names = found.slice(0, 5).map((ref) => `${ref.server}/${ref.tool}`)
      throw new SallyportError(
        'NAME_AMBIGUOUS',
        `"${typed}" names ${found.length} tools: ${names.join(', ')}${found.length > 5 ? ', …' : ''}.`,
        {
          hint: 'Write it as server/tool.',
        },
      )
    }
    const known = this.#refs.flatMap((ref) => [ref.tool, ...this.#writings(ref)])
    throw new SallyportError('TOOL_UNKNOWN', `There is no tool "${typed}".${didYouMean(typed, known)}`, {
      hint: 'See `sallyport tools` for all of them.',
    })
  }

  #writings(ref: ToolRef): readonly string[] {
    return [canonicalName(ref), `${ref.server}/${ref.tool}`, this.#wireOf.get(canonicalName(ref)) ?? '']
  }
}

interface Named {
  readonly ref: ToolRef
  readonly wire: string | undefined
}

function assignNames(refs: readonly ToolRef[], options: NamingOptions): readonly Named[] {
  const wished = refs.map((ref) => ({ ref, wire: wishedName(ref, options) }))
  const builtIn = new Set(wished.filter(({ ref }) => ref.server === BUILT_IN_SERVER).map(({ wire }) => foldName(wire)))
  const fold =
    options.naming === 'bare' ? (name: string) => (builtIn.has(foldName(name)) ? foldName(name) : name) : foldName
  const claims = new Map<string, number>()
  for (const { wire } of wished) claims.set(fold(wire), (claims.get(fold(wire)) ?? 0) + 1)
  const taken = new Set<string>()
  return wished.map(({ ref, wire }) => {
    const unique = claims.get(fold(wire)) === 1 || ref.server === BUILT_IN_SERVER
    const name = unique ? wire : clashName(ref, wire, options)
    if (name === undefined || taken.has(fold(name))) return { ref, wire: undefined }
    taken.add(fold(name))
    return { ref, wire: name }
  })
}

function wishedName(ref: ToolRef, { naming, digest }: NamingOptions): string {
  if (naming === 'bare' && ref.server !== BUILT_IN_SERVER) return ref.tool
  const plain = squeeze(`${ref.server}_${ref.tool}`)
  const spelled = squeeze(ref.tool) !== ''
  return plain.length <= MAX_LENGTH && spelled ? plain : hashedName(ref, plain, digest)
}

/** Every tool of a clash gets a hash: were one of them to keep the plain name, it would change hands when servers come and go. */
function clashName(ref: ToolRef, wire: string, { naming, digest }: NamingOptions): string | undefined {
  return naming === 'bare' ? undefined : hashedName(ref, wire, digest)
}

function hashedName(ref: ToolRef, plain: string, digest: (text: string) => string): string {
  const hash = digest(`${ref.server}\n${ref.tool}`).slice(0, HASH_LENGTH)
  const head = plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1).replace(/_+$/, '')
  return `${head}_${hash}`
}

/** Letters, digits and single underscores, beginning with a letter: what every agent leaves as it is. */
function squeeze(text: string): string {
  const plain = text.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '')
  return /^[0-9]/.test(plain) ? `s${plain}` : plain
}
