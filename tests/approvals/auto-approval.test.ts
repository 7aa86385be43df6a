import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fixture,
  type GovernedBench,
  makeFolder,
  openClient,
  openGoverned,
  outcomeOf,
} from '../governance/governed-bench.ts'
import type { LegacyClient } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'

describe(`${promise('GOV-23')} a call that matches governance.auto_approve`, () => {
  const folder = makeFolder()
  let bench: GovernedBench
  let client: LegacyClient

  const deleting = async (args: object): Promise<string> =>
    outcomeOf(await client.request('tools/call', { name: 'counter_delete_it', arguments: args }))

  beforeAll(async () => {
    const servers = { counter: fixture('counting-server.mjs', `${folder.path}/counted`, 'delete_it') }
    const drafts = { tool: 'counter/delete_*', arguments: { id: { pattern: '^tmp-' }, force: { forbidden: true } } }
    const files = { tool: 'delete_it', arguments: { id: { const: 'file' } }, paths: [folder.path] }
    const others = { tool: 'delete_it', agent: 'codex' }
    const governance = { auto_approve: [drafts, files, others] }
    bench = await openGoverned({ servers, governance })
    client = await openClient(bench)
  })

  afterAll(async () => {
    await bench.close()
    folder.remove()
  })

  it('needs no approval if all conditions of the rule hold', async () => {
    expect(await deleting({ id: 'tmp-1' })).toBe('ok')
    expect(await deleting({ id: 'tmp-1', note: 'x' })).toBe('ok')
    expect(await deleting({ id: 'file', path: `${folder.path}/a` })).toBe('ok')
  })

  it.concurrent.each([
    ['another value', { id: 'prod-1' }],
    ['another kind of value', { id: ['tmp-1'] }],
    ['what the rule forbids', { id: 'tmp-1', force: true }],
    ['the same in other letters', { id: 'tmp-1', Force: true }],
    ['a second reading of the name', { id: 'tmp-1', ID: 'prod-1' }],
    ['no such argument, so that the server takes what it likes', {}],
    ['it somewhere else only', { nested: { id: 'tmp-1' } }],
    ['no path', { id: 'file' }],
    ['a path elsewhere', { id: 'file', path: '/etc/passwd' }],
    ['one path there and one elsewhere', { id: 'file', path: `${folder.path}/a`, file: `${folder.path}/../b` }],
  ])('waits for a person with %s', async (_title, args) => {
    expect(await deleting(args)).toBe('APPROVAL_EXPIRED')
  })
})
