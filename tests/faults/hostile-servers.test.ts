import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, type RpcAnswer } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { endProcess, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

type Message = Record<string, any>
type Era = 'legacy' | 'modern'

const PUPPET = join(REPOSITORY, 'tests/fixtures/puppet-server.mjs')
/** Every way in which a server is spoken to. */
const SERVERS: Readonly<Record<string, Era>> = {
  'stdio-legacy': 'legacy',
  'json-legacy': 'legacy',
  'sse-legacy': 'legacy',
  'old-sse': 'legacy',
  docker: 'legacy',
  'stdio-modern': 'modern',
  'json-modern': 'modern',
  'sse-modern': 'modern',
}
const NAMES = Object.keys(SERVERS)
/** What the URIs of each begin with. */
const SCHEMES: Readonly<Record<string, string>> = {
  'stdio-legacy': 'legacy',
  'stdio-modern': 'modern',
  'json-legacy': 'legacy-json',
  'sse-legacy': 'legacy-sse',
  'json-modern': 'modern-json',
  'sse-modern': 'modern-sse',
  'old-sse': 'old',
  docker: 'docker',
}
/** Over these it can say something besides its answer. */
const TALKING = NAMES.filter((name) => !name.startsWith('json'))

let puppet: ChildProcess
let gateway: RunningGateway
let legacy: LegacyClient

beforeAll(async () => {
  puppet = spawn(process.execPath, [PUPPET, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = await once(createInterface({ input: puppet.stdout as NonNullable<typeof puppet.stdout> }), 'line')
  const stdio = (era: Era): object => ({ command: process.execPath, args: [PUPPET, 'stdio', era, era], era })
  const http = (path: string, era: Era): object => ({ url: `${url}/${path}`, era })
  const servers = {
    'stdio-legacy': stdio('legacy'),
    'stdio-modern': stdio('modern'),
    'json-legacy': http('legacy/json', 'legacy'),
    'sse-legacy': http('legacy/sse', 'legacy'),
    'json-modern': http('modern/json', 'modern'),
    'sse-modern': http('modern/sse', 'modern'),
    'old-sse': { ...http('old', 'legacy'), type: 'sse' },
    docker: { type: 'docker-gateway', command: [process.execPath, PUPPET, 'stdio', 'legacy', 'docker'] },
  }
  gateway = await runGateway({ config: { mcp_servers: servers, context: { cap: 'off' } } })
  await eventually(
    () => modernRequest(gateway.mcp, 'tools/list'),
    ({ message }) => NAMES.every((name) => JSON.stringify(message).includes(toolOf(name))),
  )
  legacy = await LegacyClient.open(gateway.mcp)
})

afterAll(async () => {
  await gateway.stop()
  await endProcess(puppet)
})

const toolOf = (name: string): string => `${name.replaceAll('-', '_')}_say`
const result = (text: string): string => `{"jsonrpc":"2.0","id":$ID,"result":${text}}`

function call(
  name: string,
  texts: readonly string[],
  { from = SERVERS[name], meta = {} }: { from?: Era | undefined; meta?: object } = {},
) {
  const params = { name: toolOf(name), arguments: { say: JSON.stringify(texts) }, _meta: meta }
  return from === 'legacy' ? legacy.request('tools/call', params) : modernRequest(gateway.mcp, 'tools/call', params)
}

/** The same of a prompt or a resource. */
function ask(name: string, method: string, text: string) {
  const say = JSON.stringify([text])
  const params =
    method === 'prompts/get'
      ? { name: toolOf(name), arguments: { say } }
      : { uri: `${SCHEMES[name]}:///${encodeURIComponent(say)}` }
  return SERVERS[name] === 'legacy' ? legacy.request(method, params) : modernRequest(gateway.mcp, method, params)
}

const codeOf = ({ message }: RpcAnswer): unknown =>
  message.result?._meta?.['sallyport/error']?.code ?? message.error?.data?.code ?? 'no error'

const api = async (path: string): Promise<Message> => {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  return (await (await fetch(`${gateway.url}/api${path}`, { headers })).json()) as Message
}

describe(`${promise('GW-17')} a result that the protocol does not allow`, () => {
  const INVALID: readonly (readonly [string, string])[] = [
    ['content that is a string', '{"content":"hello"}'],
    ['content that is an object', '{"content":{"type":"text","text":"hello"}}'],
    ['isError as a string', '{"content":[],"isError":"true"}'],
    ['isError as a number', '{"content":[],"isError":1}'],
    ['_meta that is a list', '{"content":[],"_meta":[]}'],
    ['a resultType that is a number', '{"content":[],"resultType":7}'],
    ['a resultType that nobody knows', '{"content":[],"resultType":"surprise"}'],
    ['a task that nobody agreed on', '{"resultType":"task","taskId":"1","status":"working"}'],
    ['input_required that asks for nothing', '{"resultType":"input_required"}'],
    ['inputRequests that are a list', '{"resultType":"input_required","inputRequests":[]}'],
    ['a result that is a string', '"hello"'],
    ['a result that is null', 'null'],
  ]
  const LEGACY_ONLY: readonly (readonly [string, string])[] = [
    [
      'input_required of a server that could not be answered',
      '{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Password?"}}},"requestState":"s"}',
    ],
  ]
  const rows = NAMES.flatMap((name) =>
    (SERVERS[name] === 'legacy' ? [...INVALID, ...LEGACY_ONLY] : INVALID).map(([what, text]) => ({ name, what, text })),
  )

  it.each(rows)('is refused: $what, over $name', async ({ name, text }) => {
    expect(codeOf(await call(name, [result(text)]))).toBe('UPSTREAM_PROTOCOL')
  })

  it.each(NAMES.filter((name) => SERVERS[name] === 'legacy'))(
    'is refused for a modern client too, over %s',
    async (name) => {
      const asks = LEGACY_ONLY[0]?.[1] ?? ''
      const answer = await call(name, [result(asks)], { from: 'modern' })
      expect(codeOf(answer)).toBe('UPSTREAM_PROTOCOL')
      expect(JSON.stringify(answer.message)).not.toContain('Password')
    },
  )

  it.each(NAMES)('is not accepted from a message of another protocol, over %s', async (name) => {
    for (const head of ['', '"jsonrpc":"1.0",', '"jsonrpc":2.0,', '"jsonrpc":"2.01",'])
      expect(codeOf(await call(name, [`{${head}"id":$ID,"result":{"content":[]}}`]))).toBe('UPSTREAM_PROTOCOL')
  })

  it.each(NAMES)('is not accepted from a message that is also a request, over %s', async (name) => {
    const both = '{"jsonrpc":"2.0","id":$ID,"method":"sampling/createMessage","params":{},"result":{"content":[]}}'
    expect(codeOf(await call(name, [both]))).toBe('UPSTREAM_PROTOCOL')
  })

  it.each(NAMES)('is refused for prompts and resources too, over %s', async (name) => {
    const say = JSON.stringify([result('{"content":[]}')])
    const params = { name: toolOf(name), arguments: { say } }
    const prompt = await (SERVERS[name] === 'legacy'
      ? legacy.request('prompts/get', params)
      : modernRequest(gateway.mcp, 'prompts/get', params))
    expect(codeOf(prompt)).toBe('UPSTREAM_PROTOCOL')
  })
})

describe(`${promise('GW-17')} an item that the protocol does not allow`, () => {
  const good = '{"type":"text","text":"good","x-more":1}'
  const BLOCKS: readonly (readonly [string, string])[] = [
    ['7', 'it must be an object'],
    ['{"text":"hello"}', '"type" must be a string'],
    ['{"type":1}', '"type" must be a string'],
    ['{"type":"text","text":5}', '"text" must be a string'],
    ['{"text":null,"type":"text"}', '"text" must be a string'],
    ['{"type":"image","mimeType":"image/png"}', '"data" must be a base64 string'],
    ['{"type":"image","data":"%%%","mimeType":"image/png"}', '"data" must be a base64 string'],
    ['{"type":"audio","data":"YQ=="}', '"mimeType" must be a string'],
    ['{"type":"resource_link","name":"a"}', '"uri" must be a string'],
    ['{"type":"resource_link","uri":"a:b"}', '"name" must be a string'],
    ['{"type":"resource"}', '"resource" must be an object'],
    ['{"type":"resource","resource":{"text":"a"}}', 'in "resource", "uri" must be a string'],
    ['{"type":"resource","resource":{"uri":"a:b"}}', 'in "resource", "text" must be a string, or "blob"'],
  ]

  it.each(NAMES)('is replaced by a text that says so, and the others stay, over %s', async (name) => {
    for (const filling of ['', 'x'.repeat(5_000)]) {
      for (const from of ['legacy', 'modern'] as const) {
        const blocks = [good, ...BLOCKS.map(([block]) => block), JSON.stringify({ type: 'text', text: filling })]
        const { message } = await call(name, [result(`{"content":[${blocks}]}`)], { from })
        const { content } = message.result
        expect(content[0]).toEqual(JSON.parse(good))
        expect(content.at(-1).text).toBe(filling)
        for (const [at, [, demand]] of BLOCKS.entries())
          expect(content[at + 1]).toEqual({
            type: 'text',
            text: expect.stringContaining(`The server "${name}" sent an invalid content[${at + 1}]: ${demand}`),
          })
      }
    }
    const { messages } = await api(`/servers/${name}`)
    expect(JSON.stringify(messages)).toContain('an invalid content[13]')
  })

  it.each(NAMES)('loses the optional members that are not allowed, over %s', async (name) => {
    const block =
      '{"type":"text","text":"a","annotations":{"audience":["user","robot"],"priority":7,"x":1},"_meta":null,"title":3}'
    const { message } = await call(name, [result(`{"content":[${block}],"_meta":{"progressToken":{},"a":1}}`)])
    expect(message.result.content).toEqual([
      { type: 'text', text: 'a', annotations: { audience: ['user'], x: 1 }, title: 3 },
    ])
    expect(message.result._meta).toMatchObject({ a: 1 })
    expect(message.result._meta).not.toHaveProperty('progressToken')
  })

  it.each(NAMES)('is replaced in prompts, over %s', async (name) => {
    const messages = [
      '{"role":"user","content":{"type":"text","text":"good"}}',
      '{"role":"assistant","content":{"type":"text"}}',
      '{"role":"system","content":{"type":"text","text":"a"}}',
      '{"role":"user","content":["a"]}',
    ]
    const { message } = await ask(name, 'prompts/get', result(`{"messages":[${messages}],"description":7}`))
    const odd = (text: string) => ({ type: 'text', text: expect.stringContaining(text) })
    expect(message.result.messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'good' } },
      { role: 'assistant', content: odd('messages[1]: "text" must be a string') },
      { role: 'user', content: odd('messages[2]: "role" must be "user" or "assistant"') },
      { role: 'user', content: odd('messages[3]: "content" must be an object') },
    ])
    expect(message.result).not.toHaveProperty('description')
  })

  it.each(NAMES)('makes contents of a resource an error, over %s', async (name) => {
    for (const contents of ['{"text":"a"}', '{"uri":"a:b"}', '{"uri":"a:b","blob":"%"}', '7']) {
      const answer = await ask(name, 'resources/read', result(`{"contents":[{"uri":"a:b","text":""},${contents}]}`))
      expect(codeOf(answer)).toBe('UPSTREAM_PROTOCOL')
      expect(answer.message.error.message).toContain('an invalid contents[1]')
    }
  })

  const wrap = (name: string, value: string) =>
    call(name, [result(`{"structuredContent":${value}}`)], { from: 'legacy' })

  it.each(NAMES)('is wrapped in an object if structured content is not one, over %s', async (name) => {
    for (const value of ['[1,2]', '"a"', '0', `["${'x'.repeat(5_000)}"]`]) {
      const { message } = await wrap(name, value)
      expect(message.result.structuredContent).toEqual({ result: JSON.parse(value) })
    }
  })
})

describe(`${promise('GW-17')} a result that is only unusual`, () => {
  const VALID: readonly (readonly [string, string])[] = [
    ['unknown fields', '{"content":[],"x-more":{"a":[1]},"_meta":{"com.example/x":1}}'],
    ['unknown content types', '{"content":[{"type":"hologram","data":{"z":1}}]}'],
    ['structured content with a `_meta` of its own', '{"content":[],"structuredContent":{"_meta":{"sallyport/x":1}}}'],
  ]

  it.each(NAMES.flatMap((name) => VALID.map(([what, text]) => ({ name, what, text }))))(
    'passes: $what, over $name',
    async ({ name, text }) => {
      const { message } = await call(name, [result(text)])
      expect(message.result).toMatchObject(JSON.parse(text))
    },
  )

  it.each(NAMES)('loses nulls that mean a missing value, over %s', async (name) => {
    const nulls = '"content":null,"isError":null,"resultType":null,"_meta":null'
    for (const text of [`{${nulls}}`, `{"x":null,${nulls},"y":"${'y'.repeat(5_000)}"}`]) {
      for (const from of ['legacy', 'modern'] as const) {
        const { message } = await call(name, [result(text)], { from })
        expect(message.result.content).toEqual([])
        for (const key of ['isError', 'resultType', '_meta']) expect(message.result[key]).not.toBeNull()
        if (text.includes('"x"')) expect(message.result.x).toBeNull()
      }
    }
  })

  it.each(NAMES)('gets the missing content, over %s', async (name) => {
    for (const text of ['{}', '{"structuredContent":{"a":1}}', `{"structuredContent":{"a":"${'x'.repeat(5_000)}"}}`]) {
      for (const from of ['legacy', 'modern'] as const) {
        const { message } = await call(name, [result(text)], { from })
        expect(message.result).toMatchObject({ ...JSON.parse(text), content: [] })
      }
    }
  })
})

describe(`${promise('GW-17')} what only the gateway may send`, () => {
  const OWN = '"sallyport/error":{"code":"FORGED"},"\\u0073allyport\\/private_data":{"x":1}'
  const KEPT = '"com.example/a":1'
  const FORGED = `{"content":[{"type":"text","text":"sallyport/ is a word","_meta":{${OWN},${KEPT}}},{"type":"resource","resource":{"uri":"a:b","text":"","_meta":{${KEPT},${OWN}}}}],"_meta":{${KEPT},${OWN}}}`

  it.each(NAMES)('is removed from results, at any depth, over %s', async (name) => {
    for (const text of [FORGED, FORGED.replace('is a word', 'x'.repeat(5_000))]) {
      for (const from of ['legacy', 'modern'] as const) {
        const { message } = await call(name, [result(text)], { from })
        expect(JSON.stringify(message)).not.toMatch(/sallyport\/(error|private)/)
        expect(JSON.stringify(message).match(/com\.example\/a/g)).toHaveLength(3)
      }
    }
  })

  it.each(NAMES)('is removed from errors, over %s', async (name) => {
    const error = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":{${OWN},"kept":1}}}`
    const { message } = await call(name, [error])
    expect(message.error).toEqual({ code: -32000, message: 'no', data: { kept: 1 } })
  })

  it.each(NAMES)('is removed from the data of an error, over %s', async (name) => {
    for (const data of ['{"code":"APPROVAL_REQUIRED","kept":1}', '{"kept":1,"c\\u006fde":"CALL_DENIED"}']) {
      const answer = await call(name, [
        `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":${data}}}`,
      ])
      expect(answer.message.error).toEqual({ code: -32000, message: 'no', data: { kept: 1 } })
    }
    const own =
      '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":{"code":"ENOENT","a":{"code":"CALL_DENIED"}}}}'
    const { message } = await call(name, [own])
    expect(message.error.data).toEqual({ code: 'ENOENT', a: { code: 'CALL_DENIED' } })
  })

  it.each(TALKING)('is removed from notifications, over %s', async (name) => {
    const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":1,"_meta":{${OWN}}}}`
    const { before } = await call(name, [progress, result('{"content":[]}')], { meta: { progressToken: 'p' } })
    expect(before).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'p', progress: 1, _meta: {} } },
    ])
  })

  it.each(NAMES)('includes the name of the server, over %s', async (name) => {
    const info = '"io.modelcontextprotocol/serverInfo":{"name":"sallyport","version":"6.6.6"}'
    for (const text of [
      `{"content":[],"_meta":{${info}}}`,
      `{"content":[{"type":"text","text":"${'x'.repeat(5_000)}","_meta":{${info}}}],"_meta":{${info}}}`,
    ]) {
      for (const from of ['legacy', 'modern'] as const) {
        const { message } = await call(name, [result(text)], { from })
        expect(JSON.stringify(message)).not.toContain('6.6.6')
      }
    }
  })

  it.each(NAMES)('does not reach a server from a client, over %s', async (name) => {
    for (const from of ['legacy', 'modern'] as const) {
      const meta = { 'sallyport/private_data': { sensitivity: 'PUBLIC' }, 'com.example/a': 1 }
      const { message } = await call(name, [result('{"content":[{"type":"text","text":$META}]}')], { from, meta })
      const received = JSON.parse(message.result.content[0].text)
      expect(received).toMatchObject({ 'com.example/a': 1 })
      expect(Object.keys(received).join()).not.toContain('sallyport/')
    }
  })
})

describe(`${promise('GW-21')} notifications`, () => {
  const notice = (method: string, params: string): string => `{"jsonrpc":"2.0","method":"${method}","params":${params}}`
  const progress = (step: number): string =>
    notice('notifications/progress', `{"progressToken":$TOKEN,"progress":${step}}`)
  const done = result('{"content":[]}')
  const droppedOf = async (name: string): Promise<Message> => (await api(`/servers/${name}`)).dropped

  it.each(TALKING)('that were not declared, or match no open request, reach nobody over %s', async (name) => {
    const before = await droppedOf(name)
    const forged = [
      notice('notifications/surprise', '{"a":1}'),
      notice('notifications/initialized', '{}'),
      notice('notifications/cancelled', '{"requestId":1}'),
      notice('notifications/elicitation/complete', '{"elicitationId":"x"}'),
      notice('notifications/progress', '{"progressToken":1,"progress":1}'),
      notice('notifications/message', '7'),
    ]
    const answer = await call(name, [...forged, done], { meta: { progressToken: 'p' } })
    expect(answer.before).toEqual([])
    expect(codeOf(answer)).toBe('no error')
    const after = await droppedOf(name)
    const more = Object.fromEntries(Object.keys(after).map((reason) => [reason, after[reason] - (before[reason] ?? 0)]))
    expect(more).toMatchObject({ not_agreed: 2, unmatched: 3, invalid: 1 })
  })

  it.each(TALKING)('that clients could not read are dropped or repaired over %s', async (name) => {
    const before = (await droppedOf(name)).invalid ?? 0
    const log = (params: string): string => notice('notifications/message', params)
    const step = (fields: string): string => notice('notifications/progress', `{"progressToken":$TOKEN,${fields}}`)
    const messages = [
      log('{"level":"loud","data":1}'),
      log('{"level":7,"data":1}'),
      log('{"level":"error"}'),
      log('{"level":"WARN","data":2,"logger":5}'),
      step('"progress":"1"'),
      step('"progress":1e999'),
      step('"message":"no number"'),
      step('"progress":3,"total":"many","message":7'),
      step('"progress":2'),
      step('"progress":3,"message":"again"'),
    ]
    const meta = { 'io.modelcontextprotocol/logLevel': 'debug', progressToken: 'p' }
    const answer = await call(name, [...messages, done], { meta, from: 'modern' })
    const passed = answer.before.map(({ method, params }) => [method.split('/')[1], params])
    expect(passed).toEqual([
      ['message', { level: 'warning', data: 2 }],
      ['progress', { progressToken: 'p', progress: 3 }],
      ['progress', { progressToken: 'p', progress: 3, message: 'again' }],
    ])
    expect(await droppedOf(name)).toMatchObject({ invalid: before + 7 })
  })

  it.each(TALKING)('of 2 MB are dropped and counted over %s', async (name) => {
    const before = (await droppedOf(name)).too_large ?? 0
    const log = (data: string): string => notice('notifications/message', `{"level":"error","data":"${data}"}`)
    const meta = { 'io.modelcontextprotocol/logLevel': 'debug' }
    const answer = await call(name, [log('short'), log('$LARGE'), done], { meta, from: 'modern' })
    expect(codeOf(answer)).toBe('no error')
    expect(answer.before.map(({ params }) => params.data)).toEqual(['short'])
    expect(await droppedOf(name)).toMatchObject({ too_large: before + 1 })
  })

  it.each(TALKING)('in large numbers are limited, and the last progress arrives, over %s', async (name) => {
    const steps = Array.from({ length: 5_000 }, (_, step) => progress(step + 1))
    const { before, message } = await call(name, [...steps, done], { meta: { progressToken: 'p' } })
    const values = before.map(({ params }) => params.progress)
    expect(values.length).toBeLessThan(3_000)
    expect(values.slice(0, 1_000)).toEqual(Array.from({ length: 1_000 }, (_, step) => step + 1))
    expect(values.at(-1)).toBe(5_000)
    expect(message.result).toMatchObject({ content: [] })
    const { dropped, messages } = await api(`/servers/${name}`)
    expect(dropped.too_many).toBeGreaterThan(2_000)
    expect(JSON.stringify(messages)).toContain('messages dropped so far: too many')
    const records = gateway.records().filter(({ type, server }) => type === 'UPSTREAM_DROPPED' && server === name)
    expect(records.length).toBeGreaterThan(0)
    expect(records.length).toBeLessThan(6)
  })

  it('that were dropped are in the metrics', async () => {
    const headers = { authorization: `Bearer ${gateway.token('operator')}` }
    const text = await (await fetch(`${gateway.url}/metrics`, { headers })).text()
    expect(text).toMatch(/sallyport_upstream_dropped_messages_total\{server="stdio-legacy",reason="too_many"\} \d+/)
  })
})

describe(`${promise('GW-19')} tools with a schema that is`, () => {
  const LEFT_OUT = ['deep', 'no-schema', 'null-schema', 'list-schema', 'string-schema']

  it.each(NAMES)('invalid are left out, and the others stay, over %s', async (name) => {
    const { leftOut, tools } = await api(`/servers/${name}`)
    expect(leftOut.map((one: Message) => one.name)).toEqual(LEFT_OUT)
    expect(leftOut[0].reason).toContain('nested deeper than 64')
    expect(leftOut[4].reason).toContain('of type "string"')
    expect(tools).toBe(3)
    for (const tool of ['no_properties', 'no_type']) {
      const params = {
        name: toolOf(name).replace('say', tool),
        arguments: { say: JSON.stringify([result('{"content":[]}')]) },
      }
      expect(codeOf(await legacy.request('tools/call', params))).toBe('no error')
    }
  })

  it('invalid are reported in the status and on the command line', async () => {
    const messages = await eventually(
      () => gateway.stderr(),
      (text) => NAMES.every((name) => text.includes(`"deep" of server ${name} is left out`)),
    )
    expect(messages).toContain('"string-schema" of server docker is left out: its inputSchema is of type "string"')
    const { stdout } = await runCommand(['tools', 'check', '--home', gateway.home, '--state', gateway.state])
    expect(stdout).toContain('"no-schema" of server sse-modern is left out: its inputSchema is missing')
  })
})
