import { compileSelectors, type ToolRef } from '@sallyport/core'
import { hasGlob, idOf, isSpeltOut, mayConcern, toolIn, type Writings, writingsOf } from './server-writings.ts'
import { createPatterns } from './tool-patterns.ts'

/** What a selection leaves of servers that an agent has under its own names. */
export interface NativeSelection {
  /** Every tool of it, also those that nobody knows of. */
  whole(server: string): boolean
  /** Every tool that nothing takes away, also those that nobody knows of. */
  open(server: string): boolean
  /** Whether what is taken away from it are single tools that are spelt out. */
  takesByName(server: string): boolean
  /** Of the tools that are known or spelt out. */
  kept(server: string): readonly string[]
  dropped(server: string): readonly string[]
  /** Whether tools of it are selected by a glob, and nobody knows which, or whether, those are. */
  mayKeep(server: string): boolean
  /** Selectors that mean nothing here. */
  readonly unmatched: readonly string[]
}

export interface SelectionSource {
  readonly selection: readonly string[]
  readonly servers: readonly string[]
  /** By the agent's name for the server or by our id for it. */
  readonly tools: readonly ToolRef[]
}

/** Stands for all tools that nobody knows of. Nobody calls a tool so, and no glob but a catch-all matches it. */
const ANY_OTHER = '\uE000'.repeat(64)

/**
 * People select by the ids that the gateway gives to servers (`my-server`), or by the agent's own names ("My Server").
 * A tool is added by either and taken away by either. An id that could be two servers adds neither.
 */
export function selectNative(source: SelectionSource): NativeSelection {
  const world = worldOf(source)
  const views = [viewOf(world, (name) => name), viewOf(world, idOf)]
  const includes = (name: string, tool: string): boolean =>
    views.some((view) => view.adds(name, tool)) && views.every((view) => view.leaves(name, tool))
  const patterns = createPatterns(source.selection, world.writings)
  const open = (name: string): boolean => includes(name, ANY_OTHER)
  const takers = (name: string): readonly string[] =>
    world.taking.filter((word) => mayConcern(word, name, world.writings))
  return {
    open,
    whole: (name) => open(name) && takers(name).length === 0,
    takesByName: (name) => takers(name).every(isSpeltOut),
    kept: (name) => world.toolsOf(name).filter((tool) => includes(name, tool)),
    dropped: (name) => world.toolsOf(name).filter((tool) => !includes(name, tool)),
    mayKeep: (name) =>
      !world.isKnown(name) && patterns(name).adds.some((tool) => hasGlob(tool) || !world.toolsOf(name).includes(tool)),
    unmatched: source.selection.filter((selector) => views.every((view) => view.unmatched.has(selector))),
  }
}

interface World {
  readonly selection: readonly string[]
  /** The words that take away, without their sign. */
  readonly taking: readonly string[]
  readonly names: readonly string[]
  readonly writings: Writings
  /** Those that are known, and those that selectors spell out. */
  toolsOf(name: string): readonly string[]
  isKnown(name: string): boolean
}

function worldOf({ selection, servers, tools }: SelectionSource): World {
  const names = [...new Set(servers)]
  const writings = writingsOf(names)
  const [known, mentioned] = [knownTools(tools, writings), mentionedTools(selection, writings)]
  return {
    ...{ selection, names, writings },
    taking: selection.filter((selector) => selector.startsWith('!')).map((selector) => selector.slice(1)),
    isKnown: (name) => (known.get(name)?.length ?? 0) > 0,
    toolsOf: (name) => [...new Set([...(known.get(name) ?? []), ...(mentioned.get(name) ?? [])])],
  }
}

/** What is selected where servers are called by these words. */
function viewOf({ selection, taking, names, writings, toolsOf }: World, word: (name: string) => string) {
  const tools = names.flatMap((name) => [...toolsOf(name), ANY_OTHER].map((tool) => ({ server: word(name), tool })))
  const servers = names.map(word)
  const added = compileSelectors(selection, tools, { servers })
  const left = compileSelectors(['*', ...taking.map((selector) => `!${selector}`)], tools, { servers })
  return {
    adds: (name: string, tool: string) =>
      (writings.get(name) ?? []).includes(word(name)) && added.includes({ server: word(name), tool }),
    leaves: (name: string, tool: string) => left.includes({ server: word(name), tool }),
    unmatched: new Set(added.unmatched),
  }
}

function knownTools(tools: readonly ToolRef[], writings: Writings): ReadonlyMap<string, readonly string[]> {
  const byServer = new Map<string, string[]>()
  for (const { server, tool } of tools) {
    const same = byServer.get(server)
    if (same) same.push(tool)
    else byServer.set(server, [tool])
  }
  return new Map([...writings].map(([name, words]) => [name, words.flatMap((word) => byServer.get(word) ?? [])]))
}

/** Tools that selectors spell out, whether or not anybody knows them. */
function mentionedTools(selection: readonly string[], writings: Writings): ReadonlyMap<string, readonly string[]> {
  const words = selection.map((selector) => selector.replace(/^!/, '')).filter(isSpeltOut)
  return new Map(
    [...writings].map(([name, names]) => [
      name,
      words.flatMap((word) => names.flatMap((server) => toolIn(word, server) ?? [])),
    ]),
  )
}
