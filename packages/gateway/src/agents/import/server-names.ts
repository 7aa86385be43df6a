import { BUILT_IN_SERVER, slugServerId } from '@sallyport/core'
import { type ConfigEntry, readCommandWords, type ServerOrigin, urlOf } from './found-server.ts'

const MAX_LENGTH = 40

/** Ids for servers that others named; nobody gets one that is taken. */
export class ServerNames {
  readonly #taken: Set<string>

  constructor(taken: Iterable<string>) {
    this.#taken = new Set([...taken, BUILT_IN_SERVER])
  }

  /** The slug of its name; where that is taken, with the agent behind it. */
  claim(source: ServerOrigin, entry: ConfigEntry): string {
    for (const wish of candidateIds(slugServerId(source.name) || deriveName(entry), source)) {
      if (this.#taken.has(wish)) continue
      this.#taken.add(wish)
      return wish
    }
    throw new Error('There are more numbers than servers.')
  }
}

function* candidateIds(base: string, { agent, scope }: ServerOrigin): Iterable<string> {
  yield base
  yield withSuffix(base, agent)
  yield withSuffix(base, `${agent}-${scope}`)
  for (let number = 2; ; number++) yield withSuffix(base, `${agent}-${number}`)
}

const withSuffix = (base: string, end: string): string =>
  `${base.slice(0, MAX_LENGTH - end.length - 1).replace(/-+$/, '')}-${end}`

/** For names of which nothing can be kept: the host, or the last word that looks like a program or a package. */
function deriveName(entry: ConfigEntry): string {
  const url = urlOf(entry)
  if (url !== undefined) return slugServerId(/^\w+:\/\/([^/:?]+)/.exec(url)?.[1] ?? '') || 'server'
  const word = readCommandWords(entry).findLast((one) => /^[@\w./-]+$/.test(one) && !one.startsWith('-'))
  return (
    slugServerId(
      word
        ?.split('/')
        .at(-1)
        ?.replace(/\.\w+$/, '') ?? '',
    ) || 'server'
  )
}
