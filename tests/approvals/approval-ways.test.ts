import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { HttpSession } from '../harness/asked-client.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { textOf } from '../harness/repository.ts'
import { endProcess } from '../harness/run-gateway.ts'
import { ANSWERS, SDK_CLIENTS } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'
import { type ApprovalsBench, openApprovals, refusalOf, TRUSTED_CLIENTS } from './approvals-bench.ts'

type Json = Record<string, any>

const FORM = { elicitation: {} }
const deleting = (id: string) => ({ name: 'counter_delete_it', arguments: { id } })
const accepting = (content: Json) => ({ ...ANSWERS, 'elicitation/create': { action: 'accept', content } })

describe(`${promise('GOV-20')} the person in front of a client that may approve`, () => {
  let bench: ApprovalsBench

  beforeAll(async () => {
    bench = await openApprovals({ profiles: TRUSTED_CLIENTS })
  })

  afterAll(() => bench.close())

  it.each(Object.entries(SDK_CLIENTS))('answers with %s', async (name, open) => {
    const yes = await open(bench.gateway, accepting({ answer: 'once' }))
    expect(await yes.call('counter_delete_it', { id: `yes ${name}` })).toMatchObject({
      content: [{ text: `yes ${name}` }],
    })
    expect(yes.asked[0]?.params.message).toContain(`yes ${name}`)
    await yes.close()
    const no = await open(bench.gateway, accepting({ answer: 'deny', why: 'I would rather not' }))
    const refused = await no.call('counter_delete_it', { id: `no ${name}` })
    expect(refusalOf(refused)).toBe('APPROVAL_DENIED')
    expect(JSON.stringify(refused)).toContain('I would rather not')
    await no.close()
    expect(bench.made().filter((id) => id.endsWith(` ${name}`))).toEqual([`yes ${name}`])
  })

  it('is no longer asked once somebody else has answered, and the other way round', async () => {
    const session = await HttpSession.open(bench.gateway.mcp, FORM)
    const call = session.call(deleting('raced'))
    const question = await call.question()
    const [{ id } = {}] = await bench.waiting()
    await bench.answer(id, { answer: 'deny', why: 'faster' })
    const { params } = await call.stream.next(({ method }) => method === 'notifications/cancelled')
    expect(params.requestId).toBe(question.id)
    expect(refusalOf(await call.reply())).toBe('APPROVAL_DENIED')
    await session.answer(question.id, { result: { action: 'accept', content: { answer: 'once' } } })
    expect(bench.made()).not.toContain('raced')
  })

  it('cannot change the rules permanently, and decides nothing by closing the form', async () => {
    const session = await HttpSession.open(bench.gateway.mcp, FORM)
    const outcomes = [{ action: 'accept', content: { answer: 'always' } }, { action: 'cancel' }, {}]
    for (const [at, result] of outcomes.entries()) {
      const call = session.call(deleting(`undecided ${at}`))
      await session.answer((await call.question()).id, { result })
      const [{ id } = {}] = await bench.waiting()
      await bench.answer(id, { answer: 'deny' })
      expect(refusalOf(await call.reply())).toBe('APPROVAL_DENIED')
    }
  })

  it('is not asked if only the URL names the profile, the token is for another profile, or the client shows no forms', async () => {
    const { mcp } = bench.gateway
    const tokenOf = async (profile: string): Promise<Record<string, string>> => {
      const { token } = await bench.api('/api/tokens', { method: 'POST', body: { agent: 'codex', profile } })
      return { authorization: `Bearer ${token}` }
    }
    const clients = [
      await HttpSession.open(`${mcp}/codex.reviewer`, FORM),
      await HttpSession.open(mcp, FORM, await tokenOf('default')),
      await HttpSession.open(mcp, {}),
      await HttpSession.open(`${mcp}/codex.reviewer`, FORM, await tokenOf('reviewer')),
      await HttpSession.open(mcp, FORM, await tokenOf('Reviewer')),
    ]
    const asked: boolean[] = []
    for (const [at, session] of clients.entries()) {
      const call = session.call(deleting(`unasked ${at}`))
      const [{ id } = {}] = await bench.waiting()
      await bench.answer(id, { answer: 'deny' })
      await call.reply()
      asked.push(call.stream.received.some(({ method }) => method === 'elicitation/create'))
    }
    expect(asked).toEqual([false, false, false, true, true])
  })

  it('loses and gains the right as soon as profiles.json is saved, and a broken one changes nothing', async () => {
    const file = join(bench.gateway.home, 'profiles.json')
    const session = await HttpSession.open(bench.gateway.mcp, FORM)
    const isAsked = async (id: string): Promise<boolean> => {
      const call = session.call(deleting(id))
      const [request] = await bench.waiting()
      await bench.answer(request?.id, { answer: 'deny' })
      await call.reply()
      return call.stream.received.some(({ method }) => method === 'elicitation/create')
    }
    const reloads = async (type: string): Promise<number> =>
      bench.gateway.records().filter((record) => record.type === type).length
    const save = async (text: string, type: string): Promise<void> => {
      const before = await reloads(type)
      writeFileSync(file, text)
      await eventually(
        () => reloads(type),
        (count) => count > before,
      )
    }
    await save('{"executors": {"ANY": {"DEFAULT": {}}}}', 'PROFILES_CHANGED')
    expect(await isAsked('without the right')).toBe(false)
    await save('{"executors": {"ANY": {"DEFAULT": {"client_approval": true,}}}}', 'CONFIG_REJECTED')
    await eventually(
      async () => bench.gateway.stderr(),
      (posted) => posted.includes('profiles.json:1:'),
    )
    expect(await isAsked('with a broken file')).toBe(false)
    await save(JSON.stringify(TRUSTED_CLIENTS), 'PROFILES_CHANGED')
    expect(await isAsked('with the right again')).toBe(true)
  })
})

const SECRET = 'a secret of more than thirty-two bytes'
const sign = (time: string, body: string, secret = SECRET): string =>
  `v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`
const now = (): string => String(Math.floor(Date.now() / 1_000))
const signed = (body: string, { time = now(), secret = SECRET } = {}): Record<string, string> => ({
  'x-sallyport-timestamp': time,
  'x-sallyport-signature': sign(time, body, secret),
})

describe(`${promise('GOV-20')} a web hook`, () => {
  const undo: (() => unknown)[] = []

  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  async function hookTo(url: string): Promise<ApprovalsBench> {
    const bench = await openApprovals({ governance: { approval_hook: { url, secret: SECRET } } })
    undo.push(() => bench.close())
    return bench
  }

  interface Received {
    readonly body: string
    readonly headers: IncomingMessage['headers']
    readonly path: string | undefined
  }

  /** A receiver whose answers the test gives. */
  async function receive(answer: (received: Received, response: ServerResponse) => void) {
    const received: Received[] = []
    const server: Server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const one = { body, headers: request.headers, path: request.url }
      received.push(one)
      answer(one, response)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    undo.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
  }

  it('of the documentation approves what its rule covers, and leaves the rest to people', async () => {
    const [, program = ''] = /```js\n([\s\S]*?)```/.exec(textOf('docs/approvals.md')) ?? []
    const bench = await openApprovals()
    undo.push(() => bench.close())
    const file = join(bench.gateway.home, 'receiver.mjs')
    writeFileSync(file, program)
    const env = { ...process.env, HOOK_SECRET: SECRET, PORT: '0' }
    const receiver: ChildProcess = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    undo.push(() => endProcess(receiver))
    const [port] = await once(createInterface({ input: receiver.stdout as NodeJS.ReadableStream }), 'line')
    const config = await bench.api('/api/servers/counter')
    bench.gateway.writeConfig({
      mcp_servers: { counter: { command: config.config.command, args: config.config.args } },
      governance: { approval_hook: { url: `http://127.0.0.1:${port}/`, secret: SECRET } },
    })
    await bench.recorded('CONFIG_RELOADED')
    const client = await LegacyClient.open(bench.gateway.mcp)
    expect(await client.call('counter_delete_it', { id: 'tmp-1' })).toMatchObject({ content: [{ text: 'tmp-1' }] })
    const [answered] = await bench.recorded('APPROVAL_ANSWERED')
    expect(answered).toMatchObject({ by: 'hook: the rule for temporary things', via: 'hook', answer: 'once' })
    const other = client.call('counter_delete_it', { id: 'precious' })
    const [{ id } = {}] = await bench.waiting()
    await bench.answer(id, { answer: 'deny' })
    await other
    expect(bench.made()).toEqual(['tmp-1'])
    rmSync(file)
  })

  it('receives the whole request, signed, and can answer later; only an answer signed for this request is valid', async () => {
    const { received, url } = await receive((_, response) => response.writeHead(204).end())
    const bench = await hookTo(url)
    const client = await LegacyClient.open(bench.gateway.mcp)
    const call = client.call('counter_delete_it', { id: 'later' })
    const [request] = await bench.waiting()
    const [{ body = '', headers = {} } = {}] = await eventually(
      () => received,
      ({ length }) => length === 1,
    )
    expect(headers['x-sallyport-signature']).toBe(sign(String(headers['x-sallyport-timestamp']), body))
    const { answer_url, ...posted } = JSON.parse(body)
    // The hash is for those who answer over the API.
    expect({ ...posted, hash: request?.hash }).toEqual(request)
    const post = async (text: string, given: Record<string, string>, method = 'POST'): Promise<number> =>
      (await fetch(answer_url, { method, headers: given, ...(method === 'POST' && { body: text }) })).status
    const good = JSON.stringify({ id: posted.id, answer: 'once', by: 'bot' })
    const { token } = await bench.api('/api/tokens', { method: 'POST', body: { agent: 'codex' } })
    const bad: readonly (readonly [string, Record<string, string>, number])[] = [
      [good, {}, 401],
      [good, signed(good, { secret: 'another secret of more than 32 bytes' }), 401],
      [good, signed(good, { secret: '' }), 401],
      [good, signed(good, { time: String(Number(now()) - 400) }), 401],
      [good, signed(good, { time: String(Number(now()) + 400) }), 401],
      [good, { ...signed(good), 'x-sallyport-timestamp': String(Number(now()) - 1) }, 401],
      [good, { ...signed(good), 'x-sallyport-signature': `${signed(good)['x-sallyport-signature']}0` }, 401],
      [`${good} `, signed(good), 401],
      [good, { authorization: `Bearer ${token}` }, 401],
      // What we sent ourselves is signed too.
      [body, signed(body), 400],
      ['', signed(''), 400],
      ['null', signed('null'), 400],
    ]
    for (const [text, given, status] of bad) expect(await post(text, given), JSON.stringify(given)).toBe(status)
    const oddBodies = [
      { id: 'another', answer: 'once', by: 'bot' },
      { answer: 'once', by: 'bot' },
      { id: posted.id, answer: 'maybe', by: 'bot' },
      { id: posted.id, answer: 'once' },
      { id: posted.id, answer: 'once', by: 'bot', extra: 1 },
    ].map((odd) => JSON.stringify(odd))
    for (const odd of oddBodies) expect(await post(odd, signed(odd)), odd).toBe(400)
    const always = JSON.stringify({ id: posted.id, answer: 'always', by: 'bot' })
    expect(await post(always, signed(always))).toBe(409)
    const large = JSON.stringify({ id: posted.id, answer: 'once', by: 'x'.repeat(20_000) })
    expect(await post(large, signed(large))).toBe(413)
    expect(await post('', {}, 'GET')).toBe(405)
    expect(bench.made()).toEqual([])
    expect(await post(good, signed(good))).toBe(204)
    await call
    expect(bench.made()).toEqual(['later'])
    expect(await post(good, signed(good))).toBe(409)
    expect((await bench.recorded('APPROVAL_ANSWERED'))[0]).toMatchObject({ by: 'hook: bot', via: 'hook' })
  })

  it('whose reply is not signed, signed for another request, or a redirect decides nothing and blocks nobody', async () => {
    const answerTo: Record<string, (id: string, response: ServerResponse) => void> = {
      unsigned: (id, response) => response.end(JSON.stringify({ id, answer: 'once', by: 'x' })),
      other: (_, response) => {
        const body = JSON.stringify({ id: 'other', answer: 'once', by: 'x' })
        response.writeHead(200, signed(body)).end(body)
      },
      redirect: (_, response) => response.writeHead(307, { location: '/elsewhere' }).end(),
      broken: (_, response) => response.destroy(),
      chatty: (_, response) => response.end('thank you'),
    }
    const { received, url } = await receive(({ body }, response) => {
      const { id, arguments: args } = JSON.parse(body)
      answerTo[args.id]?.(id, response)
    })
    const bench = await hookTo(url)
    const client = await LegacyClient.open(bench.gateway.mcp)
    for (const id of Object.keys(answerTo)) {
      const before = received.length
      const call = client.call('counter_delete_it', { id })
      const [request] = await bench.waiting()
      await eventually(
        () => received.length,
        (count) => count > before,
      )
      await bench.answer(request?.id, { answer: 'deny' })
      expect(refusalOf(await call)).toBe('APPROVAL_DENIED')
    }
    expect(bench.made()).toEqual([])
    expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/hook']))
  })

  it('that cannot be reached causes one warning, and people answer', async () => {
    const bench = await hookTo('http://127.0.0.1:9/')
    const client = await LegacyClient.open(bench.gateway.mcp)
    const calls = ['a', 'b'].map((id) => client.call('counter_delete_it', { id }))
    const waiting = await bench.waiting(2)
    await eventually(
      () => bench.gateway.stderr(),
      (text) => text.includes('web hook for approvals'),
    )
    await Promise.all(waiting.map(({ id }) => bench.answer(id, { answer: 'once' })))
    await Promise.all(calls)
    expect([...bench.made()].sort()).toEqual(['a', 'b'])
    expect(bench.gateway.stderr().match(/web hook for approvals/g)).toHaveLength(1)
    expect(bench.gateway.stderr()).not.toContain(SECRET)
  })

  it('does not exist if none is configured', async () => {
    const bench = await openApprovals()
    undo.push(() => bench.close())
    const body = JSON.stringify({ id: 'x', answer: 'once', by: 'bot' })
    const sent = { method: 'POST', body, headers: signed(body, { secret: '' }) }
    expect((await fetch(`${bench.gateway.url}/api/approvals/x/answer`, sent)).status).toBe(403)
  })
})
