import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { endProcess, makePlace, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

/** Prints its lists as given: `JSON.stringify` would change the numbers. */
const program = (tools: string, resources: string): string => `
  import { createInterface } from 'node:readline'
  const results = {
    initialize: '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"x","version":"1"}}',
    'tools/list': ${JSON.stringify(`{"tools":[${tools}]}`)},
    'resources/list': ${JSON.stringify(`{"resources":[${resources}]}`)},
    'resources/templates/list': '{"resourceTemplates":[]}',
  }
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id === undefined) return
    const result = results[method]
    const answer = result ? '"result":' + result : '"error":{"code":-32601,"message":"unknown"}'
    process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',' + answer + '}\\n')
  }).on('close', () => process.exit())
`

const SCHEMA =
  '{"type":"object","properties":{"n":{"type":"number","default":1.0,"maximum":9007199254740993,"examples":[1e400,-0]}}}'
const META = '{"ratio":0.10,"size":12345678901234567890}'
const tool = (name: string): string => `{"name":"${name}","inputSchema":${SCHEMA},"_meta":${META}}`
const listed = (name: string): string => `{"name":"${name}","inputSchema":${SCHEMA},"_meta":${META}}`

describe(`numbers in definitions (${promise('GW-17')})`, () => {
  it('are listed with the text that the server sent, also from the store', async () => {
    const place = makePlace()
    onTestFinished(() => place.remove())
    const file = join(place.home, 'server.mjs')
    writeFileSync(file, program(tool('a'), '{"uri":"x:1","name":"x","size":9007199254740993}'))
    const entry = { command: process.execPath, args: [file] }
    place.writeConfig({ mcp_servers: { x: entry } })
    for (const round of ['first', 'from the store']) {
      const gateway = await runGateway({ place })
      try {
        const { session } = await LegacyClient.open(gateway.mcp)
        const list = async (method: string): Promise<string> => {
          const response = await fetch(gateway.mcp, {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
              'mcp-session-id': session,
            },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
          })
          return response.text()
        }
        expect(await list('tools/list'), round).toContain(listed('x_a'))
        expect(await list('resources/list'), round).toContain('"size":9007199254740993')
      } finally {
        await endProcess(gateway.child)
      }
    }
  })
})
