import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LegacyClient } from '../harness/mcp-client.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { type GovernedBench, openClient, openGoverned, outcomeOf } from './governed-bench.ts'

const CHANGING = [
  ...['code-mode', 'mcp-activate-profile', 'mcp-add', 'mcp-config-set', 'mcp-create-profile'],
  ...['mcp-registry-import', 'mcp-remove'],
]

describe(`${promise('GW-11')} the rules for a Docker MCP Gateway`, () => {
  let bench: GovernedBench
  let client: LegacyClient

  beforeAll(async () => {
    const command = [process.execPath, `${REPOSITORY}/tests/fixtures/docker-gateway.mjs`, 'mcp', 'gateway', 'run']
    const opened = ['*', 'mcp-exec', 'mcp-find', ...CHANGING]
    bench = await openGoverned({
      servers: { hub: { type: 'docker-gateway', command, includeTools: opened } },
      tools: {
        'mcp__hub__*': { requires_approval: false, risk_level: 'low' },
        mcp__hub__delete_repo: { forbidden_paths: ['/srv/**'] },
        mcp__hub__post: { requires_approval: true },
      },
      governance: { patterns: { '*': { requires_approval: false } } },
    })
    client = await openClient(bench)
    await client.request('tools/list')
  })

  afterAll(() => bench.close())

  const call = async (name: string, args: object = {}): Promise<string> =>
    outcomeOf(await client.request('tools/call', { name: `hub_${name.replaceAll('-', '_')}`, arguments: args }))

  const exec = (name: string, args: object = {}): Promise<string> => call('mcp-exec', { name, arguments: args })

  it('check a call of mcp-exec as the tool inside: its schema, its paths, its approval', async () => {
    expect(await exec('search', { q: 1 })).toBe('ok')
    expect(await exec('delete_repo', { path: '/home/a' })).toBe('ok')
    expect(await exec('delete_repo', { path: 1 })).toBe('ARGUMENTS_INVALID')
    expect(await exec('delete_repo', { path: '/home/../srv/a' })).toBe('ARGUMENTS_FORBIDDEN')
    expect(bench.last('POLICY_DENIED')).toMatchObject({ tool_name: 'mcp__hub__delete_repo' })
    expect(await exec('post')).toBe('APPROVAL_EXPIRED')
    expect(bench.last('APPROVAL_REQUESTED')).toMatchObject({ tool_name: 'mcp__hub__post' })
  })

  it('require approval for every meta tool that changes what it offers, whatever a pattern says', async () => {
    const outcomes = await Promise.all(CHANGING.map((name) => call(name, { name: 'x' })))
    expect(outcomes).toEqual(CHANGING.map(() => 'APPROVAL_EXPIRED'))
    expect(await exec('mcp-add', { name: 'x' })).toBe('APPROVAL_EXPIRED')
    expect(await call('mcp-find')).toBe('ok')
  })

  it('require none if an entry for that tool says so', async () => {
    await bench.writeTools({ 'mcp__hub__mcp-add': { requires_approval: false } })
    expect(await call('mcp-add', { name: 'x' })).toBe('ok')
    expect(await call('mcp-remove', { name: 'x' })).toBe('APPROVAL_EXPIRED')
  })
})
