import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openAdminTestGateway } from '../admin/admin.test-kit.ts'
import type { RuledTool, Savings, ToolsFileEntries, ToolsFilePreview } from './api.ts'

const MINE = '# what Ann decided\n'

/** A gateway whose tools.yaml has an entry for each tool, and a comment of a person. */
async function openGovernedGateway() {
  const admin = await openAdminTestGateway()
  await admin.api('/api/tools')
  const path = join(admin.gateway.home.path, 'tools.yaml')
  const entries = async (): Promise<ToolsFileEntries> => (await admin.api('/api/tools-file/entries')).body
  // The gateway writes the file after the list is answered.
  const isWritten = async () => (await entries()).entries.some((entry) => entry.key.includes('echo'))
  await expect.poll(isWritten, { timeout: 10_000 }).toBe(true)
  await writeFile(path, `${MINE}${await readFile(path, 'utf8')}`)
  await expect.poll(async () => (await entries()).entries[0]?.line, { timeout: 10_000 }).toBeGreaterThan(1)
  const key = (await entries()).entries.find((entry) => entry.key.includes('echo'))?.key ?? ''
  const send = (route: string, body: object) => admin.api(`/api/tools-file/${route}`, { method: 'POST', body })
  return { admin, path, entries, key, send, read: () => readFile(path, 'utf8') }
}

describe('edits of tools.yaml', () => {
  it('are shown as an exact diff, then written together, with comments kept', async () => {
    const { admin, key, send, read, entries } = await openGovernedGateway()
    const before = await read()
    const edits = [
      { key, field: 'risk_level', value: 'high' },
      { key, field: 'requires_approval', value: true },
    ]
    const { status, body } = await send('preview', { edits })
    expect({ status, error: body.error }).toEqual({ status: 200 })
    const shown: ToolsFilePreview = body
    expect(shown.diff.map(({ text }) => text).join('\n')).toContain('risk_level: "high"')
    for (const { mark, text, line = 0 } of shown.diff.filter(({ mark }) => mark === ' ' || mark === '-'))
      if (mark === '-') expect(before.split('\n')[line - 1]).toBe(text)
    expect(await read()).toBe(before)
    const applied = await send('apply', { edits, hash: shown.hash, via: 'web' })
    expect(applied.status).toBe(200)
    const after = await read()
    expect(after.startsWith(MINE)).toBe(true)
    expect((await entries()).entries.find((entry) => entry.key === key)?.fields).toMatchObject({
      risk_level: 'high',
      requires_approval: true,
    })
    const again = await send('apply', { edits, hash: shown.hash })
    expect({ status: again.status, code: again.body.error.code }).toEqual({ status: 409, code: 'CONFIG_CHANGED' })
    const { events } = (await admin.api('/api/events?type=TOOLS_EDITED')).body
    expect(events).toMatchObject([{ entries: [key], via: 'web' }])
  })

  it('begin with where each value comes from', async () => {
    const { admin, key, path, read, entries } = await openGovernedGateway()
    const text = await read()
    const pattern = '  "hostile/*":\n    requires_approval: true\n'
    await writeFile(path, text.replace('\ntools:\n', `\ntools:\n${pattern}`))
    await expect.poll(async () => (await entries()).entries.some((entry) => entry.key === 'hostile/*')).toBe(true)
    const rules = (await admin.api('/api/tools-file/rules')).body
    expect(rules.path).toBe(path)
    const found: RuledTool = rules.tools.find((tool: RuledTool) => tool.entry?.key === key)
    const lines = (await read()).split('\n')
    expect(lines[(found.entry?.line ?? 0) - 1]).toContain(key)
    expect(found.risk.from).toBe('entry')
    expect(lines[(found.risk.rule?.line ?? 0) - 1]).toContain(`risk_level: "${found.risk.value}"`)
    expect(found.requiresApproval).toMatchObject({ value: true, from: 'pattern' })
    expect(lines[(found.requiresApproval.rule?.line ?? 0) - 1]).toBe('    requires_approval: true')
    expect(found).not.toHaveProperty('sensitivity')
    const own: RuledTool = rules.tools.find(({ builtIn }: RuledTool) => builtIn)
    expect(own.risk).toMatchObject({ from: 'inferred', reason: expect.any(String) })
    expect(own).not.toHaveProperty('entry')
  })

  it('of thousands of values are shown as these lines alone, and written at once', async () => {
    const { key, path, send, read, entries } = await openGovernedGateway()
    const before = await read()
    const many = Array.from(
      { length: 2_000 },
      (_, at) => `  mcp__gone__tool_${at}:\n    risk_level: low # mine, ${at}\n`,
    )
    await writeFile(path, `${before}${many.join('')}`)
    await expect.poll(async () => (await entries()).entries.length, { timeout: 10_000 }).toBeGreaterThan(2_000)
    const edits = Array.from({ length: 2_000 }, (_, at) => [
      { key: `mcp__gone__tool_${at}`, field: 'risk_level', value: 'high' },
      { key: `mcp__gone__tool_${at}`, field: 'requires_approval', value: true },
    ]).flat()
    const shown: ToolsFilePreview = (await send('preview', { edits: [...edits, { key, field: 'note', value: 'one' }] }))
      .body
    const count = (wanted: string) => shown.diff.filter(({ mark }) => mark === wanted).length
    expect([count('-'), count('+')]).toEqual([2_000, 4_001])
    expect((await send('apply', { edits, hash: shown.hash })).status).toBe(409)
    const { hash } = (await send('preview', { edits })).body
    expect((await send('apply', { edits, hash })).status).toBe(200)
    expect(await read()).toBe(
      `${before}${many.map((entry) => `${entry.replace('low', '"high"')}    requires_approval: true\n`).join('')}`,
    )
  })

  it('say which of the recorded calls they would have refused', async () => {
    const { admin, key, send } = await openGovernedGateway()
    await admin.api('/api/call', { method: 'POST', body: { tool: 'hostile/echo' } })
    const edits = [
      { key, field: 'enforce', value: true },
      { key, field: 'forbidden_in_modes', value: ['NORMAL'] },
    ]
    const { body } = await send('preview', { edits, since: new Date(Date.now() - 86_400_000).toISOString() })
    expect(body.replay).toMatchObject({ calls: 1, undecided: 0, refused: 1, changes: [{ from: 'allow', to: 'deny' }] })
  })

  it.each([
    [{ edits: [] }],
    [{ edits: [{ key: 'nobody', field: 'risk_level', value: 'high' }] }],
    [{ edits: [{ key: 'KEY', field: 'risk_level', value: 'extreme' }] }],
    [{ edits: [{ key: 'KEY', field: 'no_such_field', value: 1 }] }],
    [{ edits: [{ key: 'KEY', field: 'Risk', value: 'high' }] }],
    [{ edits: [{ key: 'KEY', field: 'risk_level', value: 'high', why: 'x' }] }],
    [{ edits: [{ key: 'KEY', field: 'risk_level', value: 'high' }], since: 'yesterday' }],
  ])('are refused: %j', async (body) => {
    const { key, send, read } = await openGovernedGateway()
    const before = await read()
    const { status } = await send('preview', JSON.parse(JSON.stringify(body).replaceAll('KEY', key)))
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(await read()).toBe(before)
  })
})

it('savings can be summed by hour and by day', async () => {
  const admin = await openAdminTestGateway()
  const by = async (how: string): Promise<Savings> => (await admin.api(`/api/savings?by=${how}`)).body
  const base = { call_id: 'c', trace_id: 't', user: 'u', agent: 'a', profile: 'p', session: 's', server: 'hostile' }
  admin.gateway.record({
    ...{ type: 'TOOL_CALL_COMPLETED', success: true, latency_ms: 1, bytes: 4_000, ...base },
    ...{ method: 'tools/call', tool_name: 'mcp__hostile__echo', is_mcp: true },
    returned: { strategy: 'shaped', bytes: 400, tokens_kept: 900 },
  })
  const day = new Date().toISOString().slice(0, 10)
  expect(await by('day')).toMatchObject({ by: 'day', rows: [{ name: day, tokens_kept: 900 }] })
  expect((await by('hour')).rows[0]?.name).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00Z$/)
})
