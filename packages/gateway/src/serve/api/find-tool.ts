import type { Offer } from '../../catalog/catalog.ts'
import type { AdminContext } from '../admin/admin-context.ts'

/** Resolves when servers of which nothing is known yet have had their chance to tell, and that is written down. */
export async function waitForServers({ fleet, settings, review }: AdminContext): Promise<void> {
  await fleet.waitUntilKnown(settings.gateway.startupWait)
  await review.flushDiscovery()
}

/** The one tool that a name in any form stands for. Throws TOOL_UNKNOWN, NAME_AMBIGUOUS, or why its server is not there. */
export async function findTool(context: AdminContext, name: string): Promise<Offer> {
  const isKnown = context.catalog.snapshot.toolNames.find(name).length === 1
  await (isKnown ? context.review.flushDiscovery() : waitForServers(context))
  const { snapshot } = context.catalog
  const absence = snapshot.toolNames.find(name).length === 0 ? context.fleet.findAbsentServer(name) : undefined
  if (absence) throw absence.refusal
  const ref = snapshot.toolNames.findOne(name)
  return snapshot.findTool(ref) as Offer
}
