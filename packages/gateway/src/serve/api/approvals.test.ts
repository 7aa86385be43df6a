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
  secrets: 'refuse',
  permission: ['READ', 'WRITE'],
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
    const admin = await openAdminTestGateway()
    const [first, second] = [await ask(admin), await ask(admin, { callId: 'c2' })]
    const { approvals } = (await admin.api('/api/approvals')).body
    expect(approvals.map(({ id }: { id: string }) => id)).toEqual([first.id, second.id])
    expect((await admin.api(`/api/approvals/${first.id}`)).body).toEqual(approvals[0])
    const answered = await admin.api(`/api/approvals/${first.id}`, { method: 'POST', body: { answer: 'once' } })
    expect(answered.body).toEqual({ approval: approvals[0], answer: 'once' })
    expect(await first.outcome).toMatchObject({ scope: 'once', via: 'api' })
    const again = await admin.api(`/api/approvals/${first.id}`, { method: 'POST', body: { answer: 'deny' } })
    expect([again.status, again.body.error.code]).toEqual([409, 'APPROVAL_SETTLED'])
    const shown = await admin.api(`/api/approvals/${first.id}`)
    expect([shown.status, shown.body.error.code]).toEqual([409, 'APPROVAL_SETTLED'])
    expect((await admin.api('/api/approvals/none')).body.error.code).toBe('APPROVAL_UNKNOWN')
  })

  it('say whether keys and tokens are sent, and what the agent wrote if that is not sent', async () => {
    const admin = await openAdminTestGateway()
    const key = ['AKIA', 'QYLPMN5HFIQR7XYA'].join('')
    const view = async (changes: Partial<ApprovalSubject>) => {
      const { id } = await ask(admin, changes)
      return (await admin.api(`/api/approvals/${id}`)).body
    }
    const plain = await view({})
    expect(plain).toMatchObject({ permission: ['READ', 'WRITE'] })
    expect(plain).not.toHaveProperty('secrets')
    expect(plain).not.toHaveProperty('written')
    const [args, written] = [{ text: key }, { text: key, _intent: 'why' }]
    const removed = await view({ arguments: args, written, secrets: 'redact' })
    expect(removed).toMatchObject({ secrets: 'removed', written: { _intent: 'why' } })
    expect(JSON.stringify(removed)).not.toContain(key)
    expect(await view({ arguments: args, secrets: 'allow' })).toMatchObject({ secrets: 'hidden' })
    const isForPrivateData = true
    expect(await view({ arguments: args, secrets: 'allow', isForPrivateData })).toMatchObject({ secrets: 'removed' })
  })

  it('are allowed by a page only with the hash of what it showed', async () => {
    const admin = await openAdminTestGateway()
    const [first, second] = [await ask(admin), await ask(admin, { arguments: { id: 4 } })]
    const hashOf = async ({ id }: { id: string }) => (await admin.api(`/api/approvals/${id}`)).body.hash
    const answer = (body: object) => admin.api(`/api/approvals/${first.id}`, { method: 'POST', body })
    const other = await hashOf(second)
    expect((await answer({ answer: 'once', via: 'web' })).status).toBe(400)
    expect((await answer({ answer: 'once', via: 'web', hash: other })).status).toBe(400)
    expect((await answer({ answer: 'deny', hash: other })).status).toBe(400)
    expect((await admin.api('/api/approvals')).body.approvals).toHaveLength(2)
    expect((await answer({ answer: 'once', via: 'web', hash: await hashOf(first) })).status).toBe(200)
    expect(await first.outcome).toMatchObject({ scope: 'once', via: 'web' })
  })

  it('stay pending if `always` is refused because it is not for a tool', async () => {
    const admin = await openAdminTestGateway()
    const { id } = await ask(admin)
    const refused = await admin.api(`/api/approvals/${id}`, { method: 'POST', body: { answer: 'always' } })
    expect([refused.status, refused.body.error.code]).toEqual([409, 'ALWAYS_REFUSED'])
    expect((await admin.api('/api/approvals')).body.approvals).toHaveLength(1)
  })

  it.each([
    {},
    { answer: 'yes' },
    { answer: 'once', by: 'somebody else' },
    { answer: 'once', why: 5 },
    { answer: 'deny', why: 'x'.repeat(501) },
    { answer: 'always', dryRun: 'true' },
  ])('are not answered by %j', async (body) => {
    const admin = await openAdminTestGateway()
    const { id } = await ask(admin)
    expect((await admin.api(`/api/approvals/${id}`, { method: 'POST', body })).status).toBe(400)
    expect((await admin.api('/api/approvals')).body.approvals).toHaveLength(1)
  })

  it('are only for the operator', async () => {
    const admin = await openAdminTestGateway()
    const { id } = await ask(admin)
    const authorization = `Bearer ${admin.agentToken}`
    for (const [path, method] of [
      ['/api/approvals', 'GET'],
      [`/api/approvals/${id}`, 'GET'],
      [`/api/approvals/${id}`, 'POST'],
    ] as const) {
      const body = method === 'POST' ? { answer: 'once' } : undefined
      expect((await admin.ask(path, { method, body, headers: { authorization } })).status, path).toBe(403)
      expect((await admin.ask(path, { method, body })).status, path).toBe(401)
    }
    const hook = await admin.ask(`/api/approvals/${id}/answer`, { method: 'POST', body: { id, answer: 'once' } })
    expect(hook.status).toBe(403)
    expect((await admin.api('/api/approvals')).body.approvals).toHaveLength(1)
  })

  it('can be found as soon as they are in the log', async () => {
    const admin = await openAdminTestGateway()
    const logged = new Promise<string>((resolve) => {
      admin.gateway.store.log.watch((event) => {
        if (event.type === 'APPROVAL_REQUESTED') resolve(event.approval)
      })
    })
    const found = logged.then((id) => admin.gateway.governance.approvals.find(id))
    void ask(admin)
    expect((await found).tool).toBe(SUBJECT.tool)
  })
})
