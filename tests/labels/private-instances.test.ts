import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { type Instance, startInstance, stopInstance } from './paired-gateway.ts'

let vault: Instance
let normal: Instance
let isolated: Instance
let place: Place
let gateway: RunningGateway

/** `vault` has private data; `data` runs twice, and what each of its instances received is the witness. */
beforeAll(async () => {
  const names = ['vault', 'normal', 'isolated']
  ;[vault, normal, isolated] = (await Promise.all(names.map((name) => startInstance(name)))) as [
    Instance,
    Instance,
    Instance,
  ]
  place = makePlace({
    governance: { enforce: true, escalation: { policy_violations: false, upstream_crashes: false } },
    mcp_servers: {
      vault: { url: vault.url, sensitivity: 'confidential', trusted: true },
      data: { url: normal.url, url_isolated: isolated.url },
    },
  })
  const open = { requires_approval: false }
  const tools = { 'vault/read': open, 'data/read': open }
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([vault, normal, isolated].map(stopInstance))
})

/** A new token each time: what counts is the session that it names. */
async function call(session: string, tool: string, text = ''): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'codex', session })
  const minted = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
  const { token } = (await minted.json()) as { token: string }
  const params = { name: tool, arguments: { text } }
  const { message } = await modernRequest(gateway.mcp, 'tools/call', params, { authorization: `Bearer ${token}` })
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}

describe(`a session that has read private data (${promise('SEN-15')}, ${promise('SEN-5')})`, () => {
  it('reaches only the isolated instance of a server that may reach out', async () => {
    expect(await call('payroll', 'data_read', 'before')).toBe('normal')
    expect(await call('payroll', 'vault_read')).toBe('vault')
    expect(await call('payroll', 'data_read', 'salary-1')).toBe('isolated')
    expect(await call('other', 'data_read', 'other-1')).toBe('normal')
    expect(await isolated.receivedText()).toContain('salary-1')
    expect(await normal.receivedText()).not.toContain('salary-')
    const ended = gateway.records().filter(({ type, server }) => type === 'TOOL_CALL_COMPLETED' && server === 'data')
    expect(ended.map(({ session, instance, label_after }) => [session, instance, label_after])).toEqual([
      ['payroll', 'normal', undefined],
      ['payroll', 'isolated', 'CONFIDENTIAL'],
      ['other', 'normal', undefined],
    ])
  })

  it('still does after the gateway was killed', async () => {
    const gone = once(gateway.child, 'exit')
    gateway.child.kill('SIGKILL')
    await gone
    gateway = await runGateway({ place, args: [] })
    expect(await call('payroll', 'data_read', 'salary-2')).toBe('isolated')
    expect(await call('other', 'data_read', 'other-2')).toBe('normal')
    expect(await normal.receivedText()).not.toContain('salary-')
  })

  it('also does if an operator raised its label', async () => {
    expect(await call('raised', 'data_read', 'before')).toBe('normal')
    const where = ['--home', place.home, '--state', place.state]
    expect(await runCommand(['sessions', 'raise', 'raised', 'secret', '--why', 'a test', ...where])).toMatchObject({
      code: 0,
    })
    expect(await call('raised', 'data_read', 'salary-3')).toBe('isolated')
    expect(await normal.receivedText()).not.toContain('salary-')
  })

  it('gets an error while the isolated instance is down, and the normal one gets nothing', async () => {
    await isolated.kill()
    const refused = await eventually(
      () => call('payroll', 'data_read', 'salary-4'),
      (text) => text.includes('is restarting'),
    )
    expect(refused).toContain('Server data (isolated) is restarting')
    expect(await call('other', 'data_read', 'other-3')).toBe('normal')
    expect(await normal.receivedText()).not.toContain('salary-')
  })
})
