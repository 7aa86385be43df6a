import { CALLER_META, toVisibleText } from '@sallyport/core'
import { type ServerCatalog, takesCallerTokens, type UpstreamConfig } from '../upstream/upstream.ts'

/** Warnings that are shown for one server at a time. */
const MAX_WARNINGS = 10

/** Warnings about what servers list and declare. Each is shown once: a server repeats its mistakes with every list. */
export class CatalogWarnings {
  readonly #onWarning: (text: string) => void
  /** By server: what it lists and the gateway does not offer. */
  readonly #leftOut = new Map<string, ReadonlySet<string>>()
  /** Servers that are not told who calls, although their entries ask for it. */
  readonly #undeclared = new Set<string>()

  constructor(onWarning: (text: string) => void) {
    this.#onWarning = onWarning
  }

  check(server: string, catalog: ServerCatalog, config: Pick<UpstreamConfig, 'identity'> | undefined): void {
    this.#checkLeftOut(server, catalog)
    this.#checkDeclaration(server, catalog, config)
  }

  #checkLeftOut(server: string, { leftOut }: ServerCatalog): void {
    const known = this.#leftOut.get(server) ?? new Set()
    const texts = leftOut.map(
      ({ name, reason }) => `"${toVisibleText(name)}" of server ${server} is left out: ${reason}.`,
    )
    const news = texts.filter((text) => !known.has(text))
    this.#leftOut.set(server, new Set(texts))
    for (const text of news.slice(0, MAX_WARNINGS)) this.#onWarning(text)
    const more = news.length - MAX_WARNINGS
    if (more > 0) this.#onWarning(`${more} more of server ${server} are left out: see \`sallyport servers ${server}\`.`)
  }

  #checkDeclaration(
    server: string,
    { capabilities }: ServerCatalog,
    config: Pick<UpstreamConfig, 'identity'> | undefined,
  ) {
    if (config?.identity !== 'forward' || takesCallerTokens(capabilities)) return void this.#undeclared.delete(server)
    if (this.#undeclared.has(server)) return
    this.#undeclared.add(server)
    this.#onWarning(
      `Server ${server} has "identity: forward", but does not declare the capability "${CALLER_META}": it is not told who calls.`,
    )
  }
}
