import { mapStrings } from './entry-texts.ts'
import { type ConfigEntry, hasReference } from './found-server.ts'
import { findSecretParts, type StringLocation } from './secret-parts.ts'

/** A secret that was found, and the variable that stands in its place. */
export interface HiddenSecret {
  readonly variable: string
  /** Where it stood: `env.TOKEN`. */
  readonly at: string
  /** Never to be shown. */
  readonly value: string
}

export interface HiddenEntry {
  readonly entry: ConfigEntry
  readonly secrets: readonly HiddenSecret[]
}

/** The names of variables, each of which means one value for all servers. */
export class VariableNames {
  readonly #values = new Map<string, string>()
  readonly #lookup: (name: string) => string | undefined
  readonly #used: ReadonlySet<string>

  /** `used`: variables that other entries refer to. What they hold may be known from the environment, or not. */
  constructor(lookup: (name: string) => string | undefined, used: ReadonlySet<string>) {
    this.#lookup = lookup
    this.#used = used
  }

  /** The first of the names that means this value, or nothing yet. */
  claim(names: readonly string[], value: string): string {
    for (const name of withNumbers(names)) {
      if (!this.#isFree(name, value)) continue
      this.#values.set(name, value)
      return name
    }
    throw new Error('There are more numbers than variables.')
  }

  #isFree(name: string, value: string): boolean {
    const known = this.#values.get(name) ?? this.#lookup(name)
    return known === undefined ? !this.#used.has(name) : known === value
  }
}

function* withNumbers(names: readonly string[]): Iterable<string> {
  yield* names
  for (let number = 2; ; number++) yield `${names.at(-1)}_${number}`
}

/** The entry of a server with a variable in the place of each secret. */
export function hideSecrets(entry: ConfigEntry, id: string, names: VariableNames): HiddenEntry {
  const secrets: HiddenSecret[] = []
  const hidden = mapStrings(entry, ({ text, location, at }) => {
    let changed = text
    for (const { start, end, name } of findSecretParts(text, location).toReversed()) {
      const value = text.slice(start, end)
      const variable = names.claim(listCandidateNames({ id, name, kind: location.kind }), value)
      secrets.push({ variable, at, value })
      changed = `${changed.slice(0, start)}\${${variable}}${changed.slice(end)}`
    }
    // `$${` would stand for itself.
    return changed !== text && !hasReference(changed) ? text : changed
  })
  return { entry: hidden, secrets }
}

interface NamedSecret {
  readonly id: string
  readonly name: string
  readonly kind: StringLocation['kind']
}

/** A variable of the program keeps its own name; what else there is, is called after the server. */
function listCandidateNames({ id, name, kind }: NamedSecret): readonly string[] {
  const server = id.toUpperCase().replaceAll('-', '_')
  const own =
    name
      .replaceAll(/\W+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .toUpperCase() || 'SECRET'
  const isNamed = own.startsWith(`${server}_`) || own === server
  const full = isNamed ? own : `${server}_${own}`
  const plain = /^[0-9]/.test(full) ? `S${full}` : full
  return kind === 'env' && /^[A-Za-z_]\w*$/.test(name) ? [name, plain] : [plain]
}
