import { computePin } from '../governance/governance.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { storedToolsOf } from './catalog-format.ts'
import type { Offer } from './offer.ts'

/** How the tools of an isolated instance differ from those that are listed, by name. */
export interface CounterpartDrift {
  readonly missing: readonly string[]
  /** Tools that it defines differently. */
  readonly differing: readonly string[]
}

type Pins = ReadonlyMap<string, string>

/** A catalog never changes. */
const toolPins = new WeakMap<ServerCatalog, Pins>()

/** The digests of all tools, by name. Those of a stored catalog are known without parsing its tools. */
function computeToolPins(catalog: ServerCatalog): Pins {
  const known = toolPins.get(catalog)
  if (known !== undefined) return known
  const stored = storedToolsOf(catalog)
  const pins = new Map(
    stored?.names.map((name, at) => [
      name,
      stored.digests(at)?.pin ?? computePin({ name, original: stored.tool(at) }),
    ]) ?? catalog.tools.map((original) => [original.name, computePin({ name: original.name, original })]),
  )
  for (const tool of catalog.revealed?.tools ?? []) {
    const name = String(tool.name)
    pins.set(name, computePin({ name, original: tool }))
  }
  toolPins.set(catalog, pins)
  return pins
}

/** `undefined` if it offers the same tools with the same definitions. What it offers besides does not matter. */
export function findCounterpartDrift(listed: ServerCatalog, isolated: ServerCatalog): CounterpartDrift | undefined {
  const pins = computeToolPins(isolated)
  const missing: string[] = []
  const differing: string[] = []
  for (const [name, pin] of computeToolPins(listed)) {
    const other = pins.get(name)
    if (other === undefined) missing.push(name)
    else if (other !== pin) differing.push(name)
  }
  return missing.length + differing.length > 0 ? { missing, differing } : undefined
}

/**
 * How the isolated instance offers a tool or prompt; `undefined` if it is the same. Resources are data: their server
 * itself answers whether it has one.
 */
export function compareOnCounterpart(offer: Offer, isolated: ServerCatalog): 'missing' | 'differing' | undefined {
  const pin = findPin(offer, isolated)
  if (pin === undefined) return offer.kind === 'tool' || offer.kind === 'prompt' ? 'missing' : undefined
  return pin === computePin(offer) ? undefined : 'differing'
}

function findPin({ kind, name }: Offer, isolated: ServerCatalog): string | undefined {
  if (kind === 'tool') return computeToolPins(isolated).get(name)
  if (kind !== 'prompt') return undefined
  const prompts = [...isolated.prompts, ...(isolated.revealed?.prompts ?? [])]
  const original = prompts.find((prompt) => prompt.name === name)
  return original && computePin({ kind, name, original })
}
