import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { type Check, type Comparison, compareChecks } from './check.ts'
import { createHttpDoor } from './fixture/http-door.ts'
import { createWorld, type Defect } from './fixture/world.ts'
import { runGatewayFor } from './gateway-process.ts'
import { createHttpDoor as createSdkDoor } from './sdk-fixture/http-door.ts'
import { requiredScenarios, runAgainstServer } from './suite.ts'

const REVISION = '2025-11-25'
const SCENARIOS = ['tools-call-image', 'tools-call-elicitation']

const servers: Server[] = []
let alone: readonly Check[]
beforeAll(async () => {
  alone = await runScenarios(await openFixture())
})
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections()
})

/** The whole comparison is `npm run conformance`; these are a few of its scenarios. */
describe('the conformance suite through the gateway', () => {
  it(`finds what it finds without (${promise('GW-18')})`, async () => {
    const { kept, losses } = await compare(alone, await openFixture())
    expect(losses).toEqual([])
    expect(kept.scored).toBeGreaterThanOrEqual(SCENARIOS.length)
  })

  it(`finds it in a server of the official SDK, too (${promise('GW-18')})`, async () => {
    const url = await open(createSdkDoor())
    const scenarios = [...SCENARIOS, 'server-sse-multiple-streams']
    const { kept, losses } = await compare(await runScenarios(url, scenarios), url, scenarios)
    expect(losses).toEqual([])
    expect(kept.scored).toBeGreaterThanOrEqual(scenarios.length)
  })

  it('finds what a server behind it fails to do', async () => {
    const { losses } = await compare(alone, await openFixture('no-image'))
    expect(losses).toMatchObject([{ scenario: 'tools-call-image', id: 'tools-call-image', isScored: true }])
  })
})

async function compare(direct: readonly Check[], url: string, scenarios = SCENARIOS): Promise<Comparison> {
  const gateway = await runGatewayFor({ url })
  try {
    const through = await runScenarios(gateway.mcp.replace('127.0.0.1', 'localhost'), scenarios)
    const required = requiredScenarios(REVISION, 'server')
    return compareChecks(direct, through, (scenario) => required.has(scenario))
  } finally {
    await gateway.stop()
  }
}

async function runScenarios(url: string, scenarios = SCENARIOS): Promise<readonly Check[]> {
  const checks = await Promise.all(scenarios.map((scenario) => runAgainstServer(url, REVISION, scenario)))
  return checks.flat()
}

function openFixture(defect?: Defect): Promise<string> {
  return open(createHttpDoor(createWorld(defect), 'legacy'))
}

async function open(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://localhost:${(server.address() as AddressInfo).port}/mcp`
}
