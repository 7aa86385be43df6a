import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient, MODERN_ENVELOPE } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'
import {
  type Instance,
  makeRoot,
  openPairedGateway,
  type PairedGateway,
  removeRoot,
  startInstance,
  stopInstance,
  untilPaired,
} from './paired-gateway.ts'

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

let root: string
let instances: readonly Instance[]
let paired: PairedGateway

/** The isolated instance of `data` lacks a tool, and defines another one differently. */
beforeAll(async () => {
  root = makeRoot()
  const port = async (): Promise<string> => String(await findLastingPort())
  instances = await Promise.all([
    startInstance('normal', ['--port', await port()]),
    startInstance('isolated', ['--port', await port(), '--without', 'export', '--other', 'read']),
    startInstance('outside', ['--port', await port()]),
  ])
  const [normal, isolated, outside] = instances
  const servers = { data: { url: normal?.url, url_isolated: isolated?.url }, outside: { url: outside?.url } }
  paired = await openPairedGateway({ servers, root })
  await untilPaired(paired)
})

afterAll(async () => {
  await paired.close()
  await Promise.all(instances.map(stopInstance))
  removeRoot(root)
})

/** The answer to one request, byte by byte. */
async function bytesOf(headers: Record<string, string>, body: object): Promise<string> {
  const accept = 'application/json, text/event-stream'
  const all = { 'content-type': 'application/json', accept, ...headers }
  const answer = await fetch(paired.mcp, { method: 'POST', headers: all, body: JSON.stringify(body) })
  return `${answer.status} ${answer.headers.get('content-type')} ${await answer.text()}`
}

/** All lists of a session in both eras. The legacy client stays connected all the time. */
async function readLists(session: string, client: LegacyClient): Promise<readonly string[]> {
  const credential = await paired.headers(session)
  const texts: string[] = []
  for (const method of LISTS) {
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
    const request = { jsonrpc: '2.0', id: 7, method }
    texts.push(await bytesOf({ ...credential, ...modern }, { ...request, params: { _meta: MODERN_ENVELOPE } }))
    const legacy = { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': client.session }
    texts.push(await bytesOf({ ...credential, ...legacy }, { ...request, params: {} }))
  }
  return texts
}

describe(`what a client lists (${promise('SEN-4')})`, () => {
  it('is the same, byte by byte, before and after its session has seen private data', async () => {
    const client = await LegacyClient.open(paired.mcp, await paired.headers('listed'))
    const before = await readLists('listed', client)
    expect(before[0]).toContain('"name":"data_export"')
    expect(before[1]).toContain('"name":"outside_read"')
    await paired.makePrivate('listed')
    expect(await readLists('listed', client)).toEqual(before)
    // The label acts on calls: the error says what happened, and what can be done instead.
    const refused = JSON.stringify(await paired.call('listed', 'outside_read'))
    expect(refused).toContain('PRIVATE_SESSION')
    expect(refused).toContain('this session holds private data (CONFIDENTIAL: \\"vault\\")')
    expect(refused).toContain('What can be done: ')
    expect(JSON.stringify(await paired.call('listed', 'data_export'))).toContain('COUNTERPART_DIFFERS')
    expect(await readLists('listed', client)).toEqual(before)
    // A new connection sees the same, and so does a session without private data.
    const again = await LegacyClient.open(paired.mcp, await paired.headers('listed'))
    expect(await readLists('listed', again)).toEqual(before)
    const other = await LegacyClient.open(paired.mcp, await paired.headers('other'))
    expect(await readLists('other', other)).toEqual(before)
  })
})
