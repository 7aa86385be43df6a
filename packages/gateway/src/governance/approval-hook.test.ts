import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Cancellation } from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ApprovalSubject } from './approval.ts'
import { ApprovalHook, signatureHeaders } from './approval-hook.ts'
import { Approvals } from './approvals.ts'

const SECRET = 'a secret of more than thirty-two bytes'
const KEY = ['AKIA', 'QYLPMN5HFIQR7XYA'].join('')
const SUBJECT: ApprovalSubject = {
  callId: 'c1',
  traceId: 't1',
  principal: { user: 'ann', agent: 'codex', profile: 'default', session: 's1', role: 'agent' },
  server: 'notes',
  method: 'tools/call',
  tool: 'mcp__notes__delete',
  isMcp: true,
  arguments: { id: 3, note: `my key is ${KEY}` },
  written: { id: 3, note: `my key is ${KEY}`, _intent: 'why' },
  secrets: 'redact',
  permission: ['READ', 'WRITE'],
  definition: 'sha256-1',
  risk: 'high',
  reason: 'high risk',
  rule: undefined,
}

async function open(
  answer: (response: ServerResponse, tries: number, body: string) => void,
  /** 0.0.0.0 is this machine, too, but not by its name. */
  { host = '127.0.0.1', changes = {} }: { host?: string; changes?: Partial<ApprovalSubject> } = {},
) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    bodies.push(body)
    answer(response, bodies.length, body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const approvals = new Approvals({
    record: () => Promise.resolve(),
    timeout: () => 60_000,
    argumentsToRecord: () => undefined,
    allowAlways: async () => async () => undefined,
    newId: () => `a${bodies.length}`,
    now: () => Date.now(),
  })
  const warnings: string[] = []
  let warned = (): void => {}
  const url = `http://${host}:${(server.address() as AddressInfo).port}/`
  const hook = new ApprovalHook({
    approvals,
    settings: () => ({ url, secret: SECRET }),
    answerUrl: () => undefined,
    now: () => Date.now(),
    onWarning: (text) => {
      warnings.push(text)
      warned()
    },
    pauses: [1, 1],
  })
  onTestFinished(() => {
    hook.close()
    server.closeAllConnections()
    server.close()
  })
  const untilWarned = new Promise<void>((resolve) => {
    warned = resolve
  })
  const ask = () => approvals.request({ ...SUBJECT, ...changes }, { cancellation: new Cancellation() })
  return { approvals, bodies, warnings, untilWarned, ask, hook }
}

function approve(response: ServerResponse, body: string): void {
  const answer = Buffer.from(JSON.stringify({ id: JSON.parse(body).id, answer: 'once', by: 'bot' }))
  response.writeHead(200, signatureHeaders(answer, { secret: SECRET, now: Date.now() })).end(answer)
}

describe('a web hook for approvals', () => {
  it('is tried three times', async () => {
    const { bodies, ask } = await open((response, tries, body) => {
      if (tries < 3) response.writeHead(503).end()
      else approve(response, body)
    })
    expect(await ask()).toMatchObject({ scope: 'once', by: 'hook: bot', via: 'hook' })
    expect(bodies).toHaveLength(3)
  })

  it('that always fails does not refuse calls, and is reported once', async () => {
    const { approvals, bodies, warnings, untilWarned, ask } = await open((response) => response.writeHead(500).end())
    const outcome = ask()
    await untilWarned
    expect(bodies).toHaveLength(3)
    expect(warnings).toEqual([expect.stringContaining('it answered with 500')])
    const [pending] = approvals.pending
    await approvals.answer(pending?.id ?? '', { answer: 'once', by: 'olga', via: 'api' })
    expect(await outcome).toMatchObject({ by: 'olga' })
  })

  it('receives the arguments without keys and tokens', async () => {
    const { bodies, ask } = await open((response, _, body) => approve(response, body))
    await ask()
    expect(bodies[0]).toContain('my key is')
    expect(bodies[0]).not.toContain(KEY)
  })

  it('gets what a call of a private session contains only on the same machine, and can approve it only there', async () => {
    const changes = { isForPrivateData: true, method: 'resources/read', tool: 'web://x/salary-5200' } as const
    const uri = 'web://x/salary-5200'
    const told = {
      ...changes,
      arguments: { uri },
      written: { uri, _intent: uri },
      reason: 'web://x/salary-5200 reaches out',
    }
    const near = await open((response, _, body) => approve(response, body), { changes: told })
    expect(await near.ask()).toMatchObject({ scope: 'once', via: 'hook' })
    expect(near.bodies[0]).toContain('salary-5200')

    const far = await open((response, _, body) => approve(response, body), { host: '0.0.0.0', changes: told })
    const outcome = far.ask()
    await far.untilWarned
    expect(far.warnings[0]).toContain('it can only deny it')
    expect(far.bodies[0]).not.toContain('salary-5200')
    const { id } = JSON.parse(far.bodies[0] ?? '')
    expect(far.bodies[0]).toContain(`sallyport approvals show ${id}`)
    const later = (answer: string) => {
      const body = Buffer.from(JSON.stringify({ id, answer, by: 'bot' }))
      return far.hook.acceptAnswer(id, { body, headers: signatureHeaders(body, { secret: SECRET, now: Date.now() }) })
    }
    await expect(later('once')).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await later('deny')
    expect(await outcome).toMatchObject({ code: 'APPROVAL_DENIED' })
  })

  it('that gives two answers in one body is ignored', async () => {
    for (const answers of ['"answer":"deny","answer":"once"', '"answer":"once","\\u0061nswer":"deny"']) {
      const { warnings, untilWarned, approvals, ask } = await open((response, _tries, body) => {
        const answer = Buffer.from(`{"id":${JSON.stringify(JSON.parse(body).id)},${answers},"by":"bot"}`)
        response.writeHead(200, signatureHeaders(answer, { secret: SECRET, now: Date.now() })).end(answer)
      })
      const asked = ask()
      await untilWarned
      expect(warnings).toEqual([expect.stringContaining('it contains the same key twice')])
      const [pending] = approvals.pending
      await approvals.answer(pending?.id ?? '', { answer: 'deny', by: 'olga', via: 'api' })
      await asked
    }
  })

  it('that gives a very long answer is ignored', async () => {
    const { warnings, untilWarned, approvals, ask } = await open((response) => response.end('"answer"'.repeat(20_000)))
    const outcome = ask()
    await untilWarned
    expect(warnings[0]).toContain('more than 65536 bytes')
    approvals.close('the test is over')
    expect(await outcome).toMatchObject({ code: 'APPROVAL_EXPIRED' })
  })
})
