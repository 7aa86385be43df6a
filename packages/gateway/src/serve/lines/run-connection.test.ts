import { once } from 'node:events'
import { type Duplex, duplexPair } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createAdminContext } from '../../compose/entry-points.ts'
import { openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { RunConnection } from './run-connection.ts'

async function openRun() {
  const { gateway } = await openAdminTestGateway()
  const [here, there] = duplexPair()
  const run = new RunConnection({ stream: there, context: createAdminContext(gateway, () => []), tokens: [] })
  return { gateway, run, here, there }
}

async function ask(stream: Duplex, request: object | string): Promise<any> {
  stream.write(`${typeof request === 'string' ? request : JSON.stringify(request)}\n`)
  const [line] = await once(stream, 'data')
  return JSON.parse(String(line))
}

describe('a run', () => {
  it('gets and revokes its tokens over its connection to the gateway, and both are recorded', async () => {
    const { gateway, here } = await openRun()
    const { token, record } = await ask(here, { mint: { agent: 'codex', otherServers: ['~/.codex'] } })
    expect(gateway.tokens.verify(token)?.principal).toMatchObject({ agent: 'codex', role: 'agent' })
    expect(await ask(here, { revoke: record.id })).toEqual({ id: record.id })
    expect(gateway.tokens.verify(token)).toBeUndefined()
    expect(await gateway.store.find({ types: ['TOKEN_MINTED', 'TOKEN_REVOKED'] })).toMatchObject([
      { type: 'TOKEN_MINTED', token_id: record.id, other_servers: ['~/.codex'] },
      { type: 'TOKEN_REVOKED', token_id: record.id },
    ])
  })

  it('that ends revokes its tokens', async () => {
    const { gateway, run, here } = await openRun()
    const { token } = await ask(here, { mint: {} })
    await run.end()
    expect(gateway.tokens.verify(token)).toBeUndefined()
  })

  it('that ends while a token is being created revokes that token, too', async () => {
    const { gateway, run, here, there } = await openRun()
    const isRead = once(there, 'data')
    here.write(`${JSON.stringify({ mint: { agent: 'late' } })}\n`)
    await isRead
    await run.end()
    await once(here, 'data')
    expect(gateway.tokens.list()).toEqual([])
  })

  it('gets an error for an invalid request, and can continue', async () => {
    const { here } = await openRun()
    expect((await ask(here, 'no JSON')).error.code).toBe('INTERNAL')
    expect((await ask(here, { revoke: 'none' })).error.code).toBe('TOKEN_UNKNOWN')
    expect((await ask(here, { mint: {} })).token).toMatch(/^spa_/)
  })
})
