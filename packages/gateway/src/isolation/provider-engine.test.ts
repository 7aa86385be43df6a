import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SallyportError } from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { ModelSettings } from '../config/config.ts'
import { createProviderEngine } from './provider-engine.ts'

const KEY = 'made for the test'

/** A provider that refuses every key, and repeats it in its answer. */
async function openRefusing() {
  const received: IncomingHttpHeaders[] = []
  const server = createServer(({ headers }, response) => {
    received.push(headers)
    response.writeHead(401).end(`no such key: ${JSON.stringify(headers)}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close().closeAllConnections()
    await once(server, 'close')
  }
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  return { received, close, url: `http://127.0.0.1:${port}` }
}

const createRefusedTurn = (settings: ModelSettings) => {
  const engine = createProviderEngine(settings)
  return (): Promise<SallyportError> =>
    engine
      .turn({
        ...{ system: '', messages: [{ role: 'user', text: 'Hello' }], tools: [], maxOutputTokens: 100 },
        signal: new AbortController().signal,
      })
      .then(
        () => expect.fail('it answered'),
        (error: SallyportError) => error,
      )
}

describe(`${promise('ISO-10')} the key of a model`, () => {
  it.each([
    ['openai-compatible', '/v1'],
    ['openai', '/v1'],
    ['anthropic', '/v1'],
    ['google', '/v1beta'],
  ] as const)('is not in the error if %s refuses it or cannot be reached', async (provider, path) => {
    const { url, close } = await openRefusing()
    const refusal = createRefusedTurn({ provider, name: 'm', baseUrl: `${url}${path}`, apiKey: KEY })
    const refused = await refusal()
    await close()
    for (const error of [refused, await refusal()]) {
      expect(error).toMatchObject({ code: 'MODEL_UNAVAILABLE' })
      expect(error.text).not.toContain(KEY)
    }
  })

  it('comes from a file, and the error for a missing file does not contain its path', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-key-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const apiKeyFile = join(folder, 'key')
    const { url, received } = await openRefusing()
    const refusal = createRefusedTurn({
      ...{ provider: 'openai-compatible', name: 'm', baseUrl: `${url}/v1`, apiKey: undefined },
      apiKeyFile,
    })
    expect(await refusal()).toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: "The file of the model's key cannot be read.",
      hint: expect.stringContaining('api_key_file'),
    })
    writeFileSync(apiKeyFile, '\n')
    expect(await refusal()).toMatchObject({ message: expect.stringContaining('empty') })
    writeFileSync(apiKeyFile, `${KEY}\n`)
    expect((await refusal()).text).not.toContain(KEY)
    expect(received.map(({ authorization }) => authorization)).toEqual([`Bearer ${KEY}`])
  })
})
