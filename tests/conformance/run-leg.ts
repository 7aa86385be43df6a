import { fileURLToPath } from 'node:url'
import type { Check } from './check.ts'
import { clientScenarios } from './client-scenarios.ts'
import { type Eras, fixtureCommand, runFixture } from './fixture-process.ts'
import { runGatewayFor } from './gateway-process.ts'
import { eraOf, type Fixture, type Leg, otherEra } from './leg.ts'
import { type Revision, runAgainstClient, runAgainstServer } from './suite.ts'

/** For a shell: either path may hold a space. */
const COMMAND = `"${process.execPath}" "${fileURLToPath(new URL('./client-main.js', import.meta.url))}"`

/** Which server or client is compared, in which revision. */
export type Reference = { readonly revision: Revision } & (
  | { readonly side: 'client' }
  | { readonly side: 'server'; readonly fixture: Fixture }
)

/** What the suite says of a server, or of our client, with no gateway between. */
export async function runAlone(of: Reference): Promise<readonly Check[]> {
  if (of.side === 'client') return runClient(of.revision, `--era ${eraOf(of.revision)}`)
  const fixture = await runFixture({ fixture: of.fixture, eras: eraOf(of.revision) })
  try {
    return await runAgainstServer(fixture.url, of.revision)
  } finally {
    await fixture.stop()
  }
}

/** What it says with the gateway between. */
export async function runThrough(leg: Leg): Promise<readonly Check[]> {
  if (leg.side === 'client') return runClient(leg.revision, `--era ${erasOf(leg)} --through`)
  const eras = erasOf(leg)
  const choice = { fixture: leg.fixture, eras }
  // A server that speaks both is told by its entry which era to speak.
  const entry = leg.fixture === 'sdk' ? { era: eras === 'both' ? 'auto' : eras } : {}
  if (leg.upstream === 'stdio') return runServer(leg.revision, { ...entry, ...fixtureCommand(choice) })
  const fixture = await runFixture(choice)
  try {
    return await runServer(leg.revision, { ...entry, url: fixture.url })
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
