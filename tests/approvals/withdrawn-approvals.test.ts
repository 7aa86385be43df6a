import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HttpSession, ModernHttp } from '../harness/asked-client.ts'
import { promise } from '../promises.ts'
import { type ApprovalsBench, openApprovals, refusalOf, TRUSTED_CLIENTS } from './approvals-bench.ts'

const FORM = { elicitation: {} }
const deleting = (id: string) => ({ name: 'counter_delete_it', arguments: { id } })

describe(`${promise('GOV-22')} what was revoked while a call waits for approval`, () => {
  let bench: ApprovalsBench

  beforeAll(async () => {
    bench = await openApprovals({ profiles: TRUSTED_CLIENTS })
  })

  afterAll(() => bench.close())

  const mint = async (session: string) => {
    const body = { agent: 'codex', session }
    const { token, record } = await bench.api('/api/tokens', { method: 'POST', body })
    return { id: record.id as string, bearer: { authorization: `Bearer ${token}` } }
  }

  it('is its token: it is refused before the revocation is answered, and no approval brings it back', async () => {
    const { mcp } = bench.gateway
    const [mine, other] = [await mint('one piece of work'), await mint('one piece of work')]
    const legacy = (await HttpSession.open(mcp, {}, mine.bearer)).call(deleting('revoked, legacy'))
    const modern = new ModernHttp(mcp, { headers: mine.bearer }).ask(deleting('revoked, modern'))
    const kept = new ModernHttp(mcp, { headers: other.bearer }).ask(deleting('kept'))
    const ids = (await bench.waiting(3)).map(({ id }) => id)
    await bench.api(`/api/tokens/${mine.id}`, { method: 'DELETE' })
    const [left, ...none] = await bench.waiting()
    expect([left?.arguments, none]).toEqual([{ id: 'kept' }, []])
    for (const refused of [await legacy.reply(), await modern]) {
      expect(refusalOf(refused)).toBe('APPROVAL_EXPIRED')
      expect(JSON.stringify(refused)).toContain('its token was revoked or has expired before anybody answered')
    }
    for (const id of ids) await bench.answer(id, { answer: 'once' })
    await kept
    expect(bench.made()).toEqual(['kept'])
  })

  it('is trust: what was approved for a session before a lockdown needs another approval after it', async () => {
    const { bearer } = await mint('a piece of work with problems')
    const ask = () => new ModernHttp(bench.gateway.mcp, { headers: bearer }).ask(deleting('before and after'))
    const first = ask()
    const [request] = await bench.waiting()
    await bench.answer(request?.id, { answer: 'session' })
    await first
    await ask()
    for (const mode of ['LOCKDOWN', 'RECOVERY', 'NORMAL'])
      await bench.api('/api/mode', { method: 'PUT', body: { mode, why: 'a test' } })
    const again = ask()
    const [other] = await bench.waiting()
    await bench.answer(other?.id, { answer: 'deny' })
    expect(refusalOf(await again)).toBe('APPROVAL_DENIED')
    expect(bench.made().filter((id) => id === 'before and after')).toHaveLength(2)
  })

  it('is the right of its client to approve: a form that is still open decides nothing then', async () => {
    const session = await HttpSession.open(bench.gateway.mcp, FORM)
    const call = session.call(deleting('formerly trusted'))
    const question = await call.question()
    writeFileSync(join(bench.gateway.home, 'profiles.json'), '{"executors": {"ANY": {"DEFAULT": {}}}}')
    await bench.recorded('PROFILES_CHANGED')
    await session.answer(question.id, { result: { action: 'accept', content: { answer: 'once' } } })
    const [request] = await bench.waiting()
    await bench.answer(request?.id, { answer: 'deny' })
    expect(refusalOf(await call.reply())).toBe('APPROVAL_DENIED')
    expect(bench.made()).not.toContain('formerly trusted')
  })
})
