import { fileURLToPath } from 'node:url'
import type { Check } from './check.ts'
import { clientScenarios } from './client-scenarios.ts'
import { type Eras, fixtureCommand, runFixture } from './fixture-process.ts'
import { runGatewayFor } from './gateway-process.ts'
import { eraOf, type Leg, otherEra } from './leg.ts'
import { type Revision, runAgainstClient, runAgainstServer } from './suite.ts'

/** For a shell: either path may hold a space. */
const COMMAND = `"${process.execPath}" "${fileURLToPath(new URL('./client-main.js', import.meta.url))}"`

/** What the suite says of our server, or of our client, with no gateway between. */
export async function runAlone(side: Leg['side'], revision: Revision): Promise<readonly Check[]> {
  if (side === 'client') return runClient(revision, `--era ${eraOf(revision)}`)
  const fixture = await runFixture(eraOf(revision))
  try {
    return await runAgainstServer(fixture.url, revision)
  } finally {
    await fixture.stop()
  }
}

/** What it says with the gateway between. */
export async function runThrough(leg: Leg): Promise<readonly Check[]> {
  if (leg.side === 'client') {
    const era = leg.behind === 'mirrored' ? eraOf(leg.revision) : otherEra(leg.revision)
    return runClient(leg.revision, `--era ${era} --through`)
  }
  const eras = erasOf(leg)
  if (leg.upstream === 'stdio') return runServer(leg.revision, fixtureCommand(eras))
  const fixture = await runFixture(eras)
  try {
    return await runServer(leg.revision, { url: fixture.url })
  } finally {
    await fixture.stop()
  }
}

async function runServer(revision: Revision, entry: object): Promise<readonly Check[]> {
  const gateway = await runGatewayFor(entry)
  try {
    return await runAgainstServer(gateway.mcp.replace('127.0.0.1', 'localhost'), revision)
  } finally {
    await gateway.stop()
  }
}

async function runClient(revision: Revision, flags: string): Promise<readonly Check[]> {
  const checks: Check[] = []
  for (const scenario of clientScenarios(revision))
    checks.push(...(await runAgainstClient(`${COMMAND} ${flags}`, revision, scenario)))
  return checks
}

function erasOf({ behind, revision }: Leg): Eras {
  if (behind === 'dual') return 'both'
  return behind === 'mirrored' ? eraOf(revision) : otherEra(revision)
}
