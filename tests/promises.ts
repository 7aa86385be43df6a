import { AGENT_PROMISES } from './promises/agents.ts'
import { COMMAND_LINE_PROMISES } from './promises/command-line.ts'
import { GATEWAY_PROMISES } from './promises/gateway.ts'
import { GOVERNANCE_PROMISES } from './promises/governance.ts'
import { ISOLATION_PROMISES } from './promises/isolation.ts'
import { KIT_PROMISES } from './promises/kit.ts'
import { SENSITIVITY_PROMISES } from './promises/sensitivity.ts'
import { WEB_PROMISES } from './promises/web.ts'

/** What the product promises, area by area. A test that proves one cites it: `promise('GW-6')`. */
export const PROMISES = {
  ...GATEWAY_PROMISES,
  ...GOVERNANCE_PROMISES,
  ...AGENT_PROMISES,
  ...KIT_PROMISES,
  ...SENSITIVITY_PROMISES,
  ...ISOLATION_PROMISES,
  ...COMMAND_LINE_PROMISES,
  ...WEB_PROMISES,
} as const

export type PromiseId = keyof typeof PROMISES

/** Cites a promise in a test's title or body. */
export function promise(id: PromiseId): PromiseId {
  if (!Object.hasOwn(PROMISES, id)) throw new Error(`${id} is not a promise of tests/promises.`)
  return id
}
