import { beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { type HookedOutcome, runHooked } from './hooked-agent.ts'
import { HOOKED_CLIS, scriptsFor } from './hooked-clis.ts'
import { findInstalled } from './installed-agent.ts'

const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = HOOKED_CLIS.filter(({ cli }) => wanted.includes(cli.id)).map((hooked) => [hooked.cli.id, hooked] as const)

// A file without a test counts as failed.
it.runIf(clis.length === 0)('no agent of this run has a hook', () => expect(clis).toEqual([]))

describe.each(clis)('%s with the hook', (id, hooked) => {
  const { toolName } = hooked
  let withGateway: HookedOutcome
  let alone: HookedOutcome
  let crashing: HookedOutcome

  beforeAll(async () => {
    const installed = findInstalled(id)
    if (!installed) throw new Error(`${id} is not installed.`)
    const { direct, through, delegated } = scriptsFor(hooked)
    withGateway = await runHooked(hooked, installed, { script: through, gateway: 'has it' })
    alone = await runHooked(hooked, installed, { script: delegated, gateway: 'has it not' })
    crashing = await runHooked(hooked, installed, { script: direct, command: 'exit 1', gateway: 'has it not' })
  }, 400_000)

  it(`${promise('ISO-18')} allows a tool that is not isolated`, () => {
    expect(withGateway.results[0]?.text, JSON.stringify(withGateway, undefined, 1)).toContain('n2')
  })

  it(`${promise('ISO-18')} denies an isolated one, and tells the model how to call it through the gateway`, () => {
    expect(withGateway.results[1]?.text).toContain(toolName('gw', 'notes_read_note'))
    expect(withGateway.results[1]?.text).not.toContain('created')
  })

  it(`${promise('ISO-18')} gets its result through the gateway`, () => {
    expect(withGateway.results[2]?.text).toContain('created')
  })

  it(`${promise('ISO-18')} names the sub-agent if there is no gateway, and does not stop the sub-agent`, () => {
    expect(alone.results[1]?.text, JSON.stringify(alone, undefined, 1)).toContain('mcp-executor')
    expect(alone.executors[0]?.text).toContain('created')
  })

  it(`${promise('ISO-19')} calls an isolated tool itself when its hook crashes`, () => {
    expect(crashing.results[1]?.text, JSON.stringify(crashing, undefined, 1)).toContain('created')
  })
})
