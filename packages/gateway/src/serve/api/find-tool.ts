import type { Offer } from '../../catalog/catalog.ts'
import type { AdminContext } from '../admin/admin-context.ts'

/** Waits until all servers are known or the startup wait is over, and until new tools are written to tools.yaml. */
export async function waitForServers({ fleet, settings, review }: AdminContext): Promise<void> {
  await fleet.waitUntilKnown(settings.gateway.startupWait)
  await review.flushDiscovery()
}

/** Finds the one tool that has this name, in any form. Throws TOOL_UNKNOWN, NAME_AMBIGUOUS, or why its server is not available. */
export async function findTool(context: AdminContext, name: string): Promise<Offer> {
  const isKnown = context.catalog.snapshot.toolNames.find(name).length === 1
  await (isKnown ? context.review.flushDiscovery() : waitForServers(context))
  const { snapshot } = context.catalog
  if (snapshot.toolNames.find(name).length === 0) {
    const { fleet, settings } = context
    const absence = fleet.findAbsentServer(name, settings.gateway.naming) ?? fleet.findStartingServer()
    if (absence) throw absence.refusal
  }
  const ref = snapshot.toolNames.findOne(name)
  return snapshot.findTool(ref) as Offer
}
