import { SallyportError } from './errors.ts'
import { didYouMean } from './text/find-closest.ts'
import { compileNameGlob } from './text/name-glob.ts'
import { BUILT_IN_SERVER, canonicalName, type ToolRef } from './tool.ts'

/**
 * How tools are named on the wire: by server and tool, by the same after `mcp_`, or by the tool's own name (with one
 * upstream only).
 */
export type Naming = 'prefixed' | 'mcp' | 'bare'

export interface NamingOptions {
  readonly naming: Naming
  /** A stable digest of a string, in lower-case hexadecimal. */
  readonly digest: (text: string) => string
  /** Names that people chose for tools, by canonical name. */
  readonly renames?: ReadonlyMap<string, string>
  /** Tools that only some clients see. They take no name from a tool that everybody sees. */
  readonly isRevealed?: (ref: ToolRef) => boolean
}

/** Two names that some agent could confuse fold to the same string. */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
}

const MAX_LENGTH = 50
/** A short hash is easier to read, but an attacker can find a collision. For the long one that is not feasible. */
const HASH_LENGTHS = [8, 16]

/** The wire names of all tools. Names are looked up in both directions and never parsed. */
export class NameTable {
  readonly #byWire = new Map<string, ToolRef>()
  readonly #wireNames = new Map<string, string>()
  readonly #refs: readonly ToolRef[]
  /** Tools for which no unique name was found. */
  readonly unnamed: readonly ToolRef[]

  constructor(refs: readonly ToolRef[], options: NamingOptions) {
    const unnamed: ToolRef[] = []
    const named: ToolRef[] = []
    for (const { ref, name: wire } of assignNames(refs, options)) {
      if (wire === undefined) {
        unnamed.push(ref)
        continue
      }
      named.push(ref)
      this.#byWire.set(wire, ref)
      this.#wireNames.set(canonicalName(ref), wire)
    }
    this.#refs = named
    this.unnamed = unnamed
  }

  /** The tool that a wire name refers to. */
  resolve(wire: string): ToolRef | undefined {
    return this.#byWire.get(wire)
  }

  wireName(ref: ToolRef): string | undefined {
    return this.#wireNames.get(canonicalName(ref))
  }

  /** The tools that a person may have meant: canonical, `server/tool`, wire name, bare name, or a glob over these. */
  find(typed: string): readonly ToolRef[] {
    const exact = this.#byWire.get(typed)
    if (exact !== undefined) return [exact]
    // A tool's own name may contain `*` or `?`, so an exact match comes before a glob.
    for (const matches of [(name: string) => name === typed, compileNameGlob(typed)]) {
      const full = this.#refs.filter((ref) => this.#spellings(ref).some(matches))
      const found = full.length > 0 ? full : this.#refs.filter((ref) => matches(ref.tool))
      if (found.length > 0) return found
    }
    return []
  }

  /** Exactly one tool, or an error that suggests names. */
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
    const known = this.#refs.flatMap((ref) => [ref.tool, ...this.#spellings(ref)])
    throw new SallyportError('TOOL_UNKNOWN', `There is no tool "${typed}".${didYouMean(typed, known)}`, {
      hint: 'See `sallyport tools` for all of them.',
    })
  }

  #spellings(ref: ToolRef): readonly string[] {
    return [canonicalName(ref), `${ref.server}/${ref.tool}`, this.#wireNames.get(canonicalName(ref)) as string]
  }
}

interface Claim {
  readonly ref: ToolRef
  /** Only blocks the original name of a renamed tool for others, since rules may still use that name. */
  readonly isReservation: boolean
  /** Against a claim of a lower rank, a tool keeps its name. */
  readonly rank: number
  level: number
  name: string | undefined
}

/**
 * Gives every tool the first of its candidate names that no other tool claims.
 *
 * If several tools claim a name, all of them lose it, and no other tool gets it afterwards. Otherwise a name could move
 * to another tool when servers come and go, and a server could take over the name of another server's tool.
 */
function assignNames(refs: readonly ToolRef[], options: NamingOptions): readonly Claim[] {
  const claims = [...new Map(refs.map((ref) => [canonicalName(ref), createClaim(ref, options)])).values()]
  const reserves = claims.filter(({ level }) => level === RENAMED).map(({ ref }) => createReservation(ref, options))
  const fold = createFold(claims, options.naming)
  /** The tool that holds a name; `undefined` once several have claimed it. */
  const holders = new Map<string, Claim | undefined>()
  // The last one is served first: the higher ranks.
  const pending = [...reserves, ...claims.toSorted((one, other) => one.rank - other.rank)]
  for (let claim = pending.pop(); claim !== undefined; claim = pending.pop()) {
    if (claim.name === undefined) continue
    const key = fold(claim.name)
    if (!holders.has(key)) {
      holders.set(key, claim)
      continue
    }
    const holder = holders.get(key)
    if (holder?.ref === claim.ref) {
      // A renamed tool that falls back to its original name finds it reserved.
      holders.set(key, holder.isReservation ? claim : holder)
      continue
    }
    const losers = findLosers(claim, holder)
    holders.set(key, undefined)
    for (const loser of losers) lowerClaim(loser, options)
    pending.push(...losers)
  }
  return claims
}

/** Who loses a name that both claim; without a holder, several have lost it already. */
function findLosers(claim: Claim, holder: Claim | undefined): readonly Claim[] {
  if (holder === undefined || holder.rank > claim.rank) return [claim]
  return holder.rank < claim.rank ? [holder] : [claim, holder]
}

/** The gateway's own tools keep their names, whoever else claims them; then come those that everybody sees. */
const RANKS = { builtIn: 2, common: 1, revealed: 0 } as const

function rankOf(ref: ToolRef, { isRevealed }: NamingOptions): number {
  return isRevealed?.(ref) ? RANKS.revealed : RANKS.common
}

/** Moves on to the next candidate name. A tool without letters, or with a long name, has no plain name. */
function lowerClaim(claim: Claim, options: NamingOptions): void {
  claim.name = candidateName(claim.ref, ++claim.level, options)
  if (claim.name === undefined && claim.level === 0) lowerClaim(claim, options)
}

function createClaim(ref: ToolRef, options: NamingOptions): Claim {
  const wanted = findChosenName(ref, options)
  const rank = rankOf(ref, options)
  if (wanted !== undefined) return { ref, isReservation: false, rank, level: RENAMED, name: wanted }
  const isBuiltIn = ref.server === BUILT_IN_SERVER
  return { ...createReservation(ref, options), isReservation: false, rank: isBuiltIn ? RANKS.builtIn : rank }
}

function createReservation(ref: ToolRef, options: NamingOptions): Claim {
  const plain = candidateName(ref, 0, options)
  const level = plain === undefined ? 1 : 0
  const name = plain ?? candidateName(ref, level, options)
  return { ref, isReservation: true, rank: rankOf(ref, options), level, name }
}

/** The level of a name that a person chose. */
const RENAMED = -1

/** `undefined` if nothing usable is left of the chosen name. */
function findChosenName(ref: ToolRef, { renames }: NamingOptions): string | undefined {
  const chosen = renames?.get(canonicalName(ref))
  return chosen === undefined ? undefined : toWireName(chosen)
}

/** A chosen name as it appears on the wire; `undefined` if it is empty or too long. */
export function toWireName(chosen: string): string | undefined {
  const name = sanitizeName(chosen)
  return name === '' || name.length > MAX_LENGTH ? undefined : name
}

/** Bare names are compared exactly, except those that could be confused with a built-in tool. */
function createFold(claims: readonly Claim[], naming: Naming): (name: string) => string {
  if (naming !== 'bare') return foldName
  const own = new Set(claims.filter(({ rank }) => rank === RANKS.builtIn).map(({ name }) => foldName(name ?? '')))
  return (name) => (own.has(foldName(name)) ? foldName(name) : name)
}

/** The candidate names of a tool, from the most readable to the most unique. */
function candidateName(ref: ToolRef, level: number, { naming, digest }: NamingOptions): string | undefined {
  if (naming === 'bare' && ref.server !== BUILT_IN_SERVER) return level === 0 ? ref.tool : undefined
  const plain = naming === 'mcp' ? mcpName(ref) : plainName(ref)
  if (level > 0) return shortenNames(plain, ref, digest)[level - 1]
  return plain.length <= MAX_LENGTH && /[A-Za-z0-9]/.test(ref.tool) ? plain : undefined
}

/** The wire name of a tool, unless it is too long or other tools claim it. */
export const plainName = (ref: ToolRef): string => sanitizeName(`${ref.server}_${ref.tool}`)

/** The same with `naming: mcp`. */
export const mcpName = (ref: ToolRef): string => sanitizeName(`mcp_${ref.server}_${ref.tool}`)

/** The candidate names, in any naming, of a tool that cannot have its plain name. */
export function hashedNames(ref: ToolRef, digest: NamingOptions['digest']): readonly string[] {
  return [plainName(ref), mcpName(ref)].flatMap((plain) => shortenNames(plain, ref, digest))
}

function shortenNames(plain: string, ref: ToolRef, digest: NamingOptions['digest']): readonly string[] {
  const hash = digest(`${ref.server}\n${ref.tool}`)
  return HASH_LENGTHS.map((length) => {
    const head = plain.slice(0, MAX_LENGTH - length - 1).replace(/_$/, '')
    return `${head}_${hash.slice(0, length)}`
  })
}

/** Letters, digits and single underscores, beginning with a letter: every agent leaves such names unchanged. */
function sanitizeName(text: string): string {
  const plain = text.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')
  return /^[0-9]/.test(plain) ? `s${plain}` : plain
}
