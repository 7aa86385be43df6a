import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { runHooked } from './hooked-agent.ts'
import { HOOKED_CLIS, scriptsFor } from './hooked-clis.ts'
import { findInstalled } from './installed-agent.ts'

const HOOKS = join(REPOSITORY, 'tests/fixtures/hooks')
const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = HOOKED_CLIS.filter(({ cli }) => wanted.includes(cli.id)).map((hooked) => [hooked.cli.id, hooked] as const)

describe.each(clis)('%s', (id, hooked) => {
  it('tells its hook of a call in the conversation, and of one by its sub-agent', async () => {
    const installed = findInstalled(id)
    if (!installed) throw new Error(`${id} is not installed.`)
    const { received } = await runHooked(hooked, installed, {
      script: scriptsFor(hooked).delegated,
      gateway: 'has it not',
    })
    expect(received.length).toBeGreaterThan(1)
    mkdirSync(HOOKS, { recursive: true })
    const lines = received.map((message) => `${JSON.stringify(message)}\n`)
    writeFileSync(join(HOOKS, `${id}-${installed.version}.jsonl`), anonymous(lines.join('')))
  })
})

/** Without what is of this machine or of this run. */
const anonymous = (text: string): string =>
  text
    .replaceAll(
      /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
      '00000000-0000-4000-8000-000000000000',
    )
    .replaceAll(/\btoolu_[0-9a-f]{32}\b/g, 'toolu_0001')
    .replaceAll(/20\d\d-\d\d-\d\dT[\d:.-]+Z?/g, '2026-01-01T00:00:00.000Z')
    .replaceAll(/-tmp-sallyport-agent-\w+-work/g, '-home-user-work')
    .replaceAll(/Z[0-9a-f]{8}\.jsonl/g, 'Z00000000.jsonl')
    .replaceAll(REPOSITORY, '/repository/')
    .replaceAll(process.execPath, '/usr/bin/node')
