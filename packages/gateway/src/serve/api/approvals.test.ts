import { Cancellation } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { ApprovalSubject } from '../../governance/governance.ts'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'

const SUBJECT: ApprovalSubject = {
  callId: 'c1',
  traceId: 't1',
  principal: { user: 'ann', agent: 'codex', profile: 'default', session: 's1', role: 'agent' },
  server: 'hostile',
  method: 'tools/call',
  tool: 'mcp__hostile__nowhere',
  isMcp: true,
  arguments: { id: 3 },
  definition: 'sha256-1',
  risk: 'high',
  reason: 'high risk',
  rule: undefined,
}

async function ask({ gateway }: AdminTestGateway, changes: Partial<ApprovalSubject> = {}) {
  const cancellation = new Cancellation()
  const { approvals } = gateway.governance
  return new Promise<{ id: string; outcome: Promise<unknown> }>((resolve) => {
    const onPending = ({ id }: { id: string }): void => resolve({ id, outcome })
    const outcome = approvals.request({ ...SUBJECT, ...changes }, { cancellation, onPending })
  })
}

describe('approvals over the API', () => {
  it('are listed newest last, shown, and answered once', async () => {
    const bench = await openAdminTestGateway()
    const [first, second] = [await ask(bench), await ask(bench, { callId: 'c2' })]
    const { approvals } = (await bench.api('/api/approvals')).body
    expect(approvals.map(({ id }: { id: string }) => id)).toEqual([first.id, second.id])
    expect((await bench.api(`/api/approvals/${first.id}`)).body).toEqual(approvals[0])
    const answered = await bench.api(`/api/approvals/${first.id}`, { method: 'POST', body: { answer: 'once' } })
    expect(answered.body).toEqual({ approval: approvals[0], answer: 'once' })
    expect(await first.outcome).toMatchObject({ scope: 'once', via: 'api' })
    const again = await bench.api(`/api/approvals/${first.id}`, { method: 'POST', body: { answer: 'deny' } })
    expect([again.status, again.body.error.code]).toEqual([409, 'APPROVAL_SETTLED'])
    const shown = await bench.api(`/api/approvals/${first.id}`)
    expect([shown.status, shown.body.error.code]).toEqual([409, 'APPROVAL_SETTLED'])
    expect((await bench.api('/api/approvals/none')).body.error.code).toBe('APPROVAL_UNKNOWN')
  })

  it('are not made to hold for good for what is no tool, and then still wait', async () => {
    const bench = await openAdminTestGateway()
    const { id } = await ask(bench)
    const refused = await bench.api(`/api/approvals/${id}`, { method: 'POST', body: { answer: 'always' } })
    expect([refused.status, refused.body.error.code]).toEqual([409, 'ALWAYS_REFUSED'])
    expect((await bench.api('/api/approvals')).body.approvals).toHaveLength(1)
  })

  it.each([
    {},
    { answer: 'yes' },
    { answer: 'once', by: 'somebody else' },
    { answer: 'once', why: 5 },
    { answer: 'deny', why: 'x'.repeat(501) },
    { answer: 'always', dryRun: 'true' },
  ])('are not answered by %j', async (body) => {
    const bench = await openAdminTestGateway()
    const { id } = await ask(bench)
    expect((await bench.api(`/api/approvals/${id}`, { method: 'POST', body })).status).toBe(400)
    expect((await bench.api('/api/approvals')).body.approvals).toHaveLength(1)
  })

  it('are the operator’s alone', async () => {
    const bench = await openAdminTestGateway()
    const { id } = await ask(bench)
    const authorization = `Bearer ${bench.agentToken}`
    for (const [path, method] of [
      ['/api/approvals', 'GET'],
      [`/api/approvals/${id}`, 'GET'],
      [`/api/approvals/${id}`, 'POST'],
    ] as const) {
      const body = method === 'POST' ? { answer: 'once' } : undefined
      expect((await bench.ask(path, { method, body, headers: { authorization } })).status, path).toBe(403)
      expect((await bench.ask(path, { method, body })).status, path).toBe(401)
    }
    const hook = await bench.ask(`/api/approvals/${id}/answer`, { method: 'POST', body: { id, answer: 'once' } })
    expect(hook.status).toBe(403)
    expect((await bench.api('/api/approvals')).body.approvals).toHaveLength(1)
  })

  it('can be looked up as soon as the log tells of them', async () => {
    const bench = await openAdminTestGateway()
    const told = new Promise<string>((resolve) => {
      bench.gateway.store.log.watch((event) => {
        if (event.type === 'APPROVAL_REQUESTED') resolve(event.approval)
      })
    })
    const found = told.then((id) => bench.gateway.governance.approvals.find(id))
    void ask(bench)
    expect((await found).tool).toBe(SUBJECT.tool)
  })
})
