import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'
import {
  type Instance,
  type Listening,
  listen,
  makeRoot,
  openPairedGateway,
  type PairedGateway,
  removeRoot,
  startInstance,
  stopInstance,
  untilPaired,
} from './paired-gateway.ts'

type Json = Record<string, any>

const textIn = ({ result }: Json): string => result?.content?.[0]?.text ?? JSON.stringify(result)

let root: string
let normal: Instance
let isolated: Instance
let paired: PairedGateway

const servers = () => ({ data: { url: normal.url, url_isolated: isolated.url } })
let sessions = 0
const newSession = (): string => `s${++sessions}`

beforeAll(async () => {
  root = makeRoot()
  const start = async (name: string) => startInstance(name, ['--port', String(await findLastingPort())])
  ;[normal, isolated] = await Promise.all([start('normal'), start('isolated')])
  paired = await openPairedGateway({ servers: servers(), root })
  await untilPaired(paired)
})

afterAll(async () => {
  await paired.close()
  await Promise.all([normal, isolated].map(stopInstance))
  removeRoot(root)
})

describe(`the calls of a session with private data (${promise('SEN-15')})`, () => {
  it('go to the isolated instance from the next call on, and those of other sessions do not', async () => {
    const [one, other] = [newSession(), newSession()]
    expect(textIn(await paired.call(one, 'data_read'))).toBe('normal')
    await paired.makePrivate(one)
    expect(textIn(await paired.call(one, 'data_read', { text: 'secret-1' }))).toBe('isolated')
    expect(textIn(await paired.call(other, 'data_read'))).toBe('normal')
    expect(await normal.receivedText()).not.toContain('secret-1')
  })

  it('are recorded with the instance that got them', async () => {
    const session = newSession()
    await paired.call(session, 'data_read')
    await paired.makePrivate(session)
    await paired.call(session, 'data_read')
    const ended = paired.records('TOOL_CALL_COMPLETED').filter((record) => record.session === session)
    expect(ended.map(({ server, instance }) => [server, instance])).toEqual([
      ['data', 'normal'],
      ['data', 'isolated'],
    ])
  })

  it('go there for resources, prompts and completions, too', async () => {
    const session = newSession()
    const ref = { type: 'ref/prompt', name: 'data_greet' }
    const requests = [
      ['resources/read', { uri: 'notes://all' }],
      ['resources/read', { uri: 'note://secret-2' }],
      ['prompts/get', { name: 'data_greet', arguments: { city: 'secret-2' } }],
      ['completion/complete', { ref, argument: { name: 'city', value: 'secret-2' } }],
    ] as const
    const before = await Promise.all(requests.map(([method, params]) => paired.request(newSession(), method, params)))
    expect(before.map((answer) => JSON.stringify(answer))).toEqual(
      requests.map(() => expect.stringContaining('normal')),
    )
    const seen = (await normal.receivedText()).length
    await paired.makePrivate(session)
    const after = await Promise.all(requests.map(([method, params]) => paired.request(session, method, params)))
    expect(after.map((answer) => JSON.stringify(answer))).toEqual(
      requests.map(() => expect.stringContaining('isolated')),
    )
    expect((await normal.receivedText()).length).toBe(seen)
  })

  it('use a connection of their own to it in a legacy conversation, without a new handshake of the client', async () => {
    const session = newSession()
    const client = await LegacyClient.open(paired.mcp, await paired.headers(session))
    expect((await client.call('data_read')).content[0].text).toBe('normal')
    await paired.makePrivate(session)
    expect((await client.call('data_read', { text: 'secret-3' })).content[0].text).toBe('isolated')
    expect((await client.call('data_read', { text: 'secret-3' })).content[0].text).toBe('isolated')
    expect(await normal.receivedText()).not.toContain('secret-3')
  })

  it('never reach the normal instance while others go there, whenever the session becomes private', async () => {
    const session = newSession()
    const answers: Promise<Json>[] = []
    for (let index = 0; index < 60; index++) {
      if (index === 30) await paired.makePrivate(session)
      answers.push(paired.call(session, 'data_read', { text: index < 30 ? 'early' : `late-${index}` }))
      answers.push(paired.call(newSession(), 'data_read', { text: 'other' }))
    }
    const texts = (await Promise.all(answers)).map(textIn)
    expect(texts.filter((text) => text !== 'normal' && text !== 'isolated')).toEqual([])
    expect(texts.filter((_, at) => at >= 60 && at % 2 === 0)).toEqual(Array(30).fill('isolated'))
    expect(texts.filter((_, at) => at % 2 === 1)).toEqual(Array(60).fill('normal'))
    expect(await normal.receivedText()).not.toContain('late-')
  })

  it('still get the answer of a call that was sent before', async () => {
    const session = newSession()
    const answer = paired.call(session, 'data_wait', { id: 'before' })
    const hasArrived = async () => JSON.stringify(await normal.received('tools/call')).includes('"id":"before"')
    await eventually(hasArrived, Boolean)
    await paired.makePrivate(session)
    await normal.control('/release', 'before')
    expect(textIn(await answer)).toBe('normal')
    expect(textIn(await paired.call(session, 'data_read'))).toBe('isolated')
  })
})

describe(`a subscription of a session that becomes private (${promise('SEN-15')})`, () => {
  it('moves to the isolated instance, and updates of the normal one no longer reach it', async () => {
    const [session, other] = [newSession(), newSession()]
    const clients = await Promise.all([session, other].map((each) => listen(paired, each)))
    const [moved, stayed] = clients as [Listening, Listening]
    await normal.control('/touch')
    await eventually(
      () => [moved.updates(), stayed.updates()].join(),
      (counts) => counts === '1,1',
    )
    await paired.makePrivate(session)
    await eventually(
      async () => JSON.stringify(await isolated.received('subscriptions/listen')),
      (text) => text.includes('notes://all'),
    )
    await normal.control('/touch')
    await eventually(
      () => stayed.updates(),
      (count) => count === 2,
    )
    await paired.call(session, 'data_read')
    expect(moved.updates()).toBe(1)
    await isolated.control('/touch')
    await eventually(
      () => moved.updates(),
      (count) => count === 2,
    )
    await paired.call(session, 'data_read')
    expect([moved.updates(), stayed.updates()]).toEqual([2, 2])
    for (const client of clients) client.stop()
  })
})

describe(`the metrics (${promise('SEN-15')})`, () => {
  it('show both instances', async () => {
    const token = readFileSync(join(root, 'state/tokens/operator'), 'utf8').trim()
    const response = await fetch(new URL('/metrics', paired.mcp), { headers: { authorization: `Bearer ${token}` } })
    const text = await response.text()
    expect(text).toContain('sallyport_upstream_up{server="data"} 1')
    expect(text).toContain('sallyport_upstream_up{server="data (isolated)"} 1')
  })
})

describe(`an instance that is down (${promise('SEN-15')})`, () => {
  it('if it is the isolated one: its calls get a retryable error that names it, and never go to the other', async () => {
    const session = newSession()
    await paired.makePrivate(session)
    await isolated.kill()
    const error = await eventually(
      async () => (await paired.call(session, 'data_read', { text: 'secret-4' })).result,
      (result) => result?.isError === true && /data \(isolated\) is restarting/.test(result.content[0].text),
    )
    expect(error).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/Server data \(isolated\) is restarting: /) }],
    })
    expect(textIn(await paired.call(newSession(), 'data_read'))).toBe('normal')
    expect(await normal.receivedText()).not.toContain('secret-4')
    expect(paired.records('UPSTREAM_LOST').at(-1)).toMatchObject({ server: 'data', instance: 'isolated' })
    isolated = await startInstance('isolated', ['--port', isolated.port])
    await eventually(
      () => paired.call(session, 'data_read'),
      (answer) => textIn(answer) === 'isolated',
      50_000,
    )
    expect(paired.records('UPSTREAM_RESTARTED').at(-1)).toMatchObject({ server: 'data', instance: 'isolated' })
  })

  it('if it is the normal one: calls of private sessions go on', async () => {
    const session = newSession()
    await paired.makePrivate(session)
    await normal.kill()
    await eventually(
      () => paired.call(newSession(), 'data_read'),
      ({ result }) => /Server data is restarting/.test(result?.content?.[0]?.text),
    )
    expect(textIn(await paired.call(session, 'data_read'))).toBe('isolated')
    normal = await startInstance('normal', ['--port', normal.port])
    await untilPaired(paired)
  })
})

describe(`after a restart of the gateway (${promise('SEN-15')})`, () => {
  it('the first call of a private session goes to the isolated instance, with the stored list', async () => {
    await paired.close()
    await normal.kill()
    paired = await openPairedGateway({ servers: servers(), root })
    const session = newSession()
    await paired.makePrivate(session)
    expect(textIn(await paired.call(session, 'data_read', { text: 'secret-5' }))).toBe('isolated')
    normal = await startInstance('normal', ['--port', normal.port])
    await untilPaired(paired)
    expect(await normal.receivedText()).not.toContain('secret-5')
  })

  it('both instances are connected before the first call', async () => {
    const before = (await isolated.received('server/discover')).length
    await paired.close()
    paired = await openPairedGateway({ servers: servers(), root })
    await untilPaired(paired)
    expect((await isolated.received('server/discover')).length).toBeGreaterThan(before)
  })
})
