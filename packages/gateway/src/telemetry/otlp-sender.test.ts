import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OtlpSender } from './otlp-sender.ts'

async function openCollector(answer: (response: ServerResponse, request: IncomingMessage) => void): Promise<URL> {
  const server = createServer((request, response) => answer(response, request)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`)
}

function openSender(timeout = 60_000) {
  const warnings: string[] = []
  const sender = new OtlpSender({ headers: { 'x-key': 'k' }, timeout, onWarning: (text) => void warnings.push(text) })
  onTestFinished(() => sender.close())
  return { sender, warnings }
}

const BODY = new TextEncoder().encode('{}')

describe('sending telemetry', () => {
  it('retries if the collector may accept it later', async () => {
    const statuses = [503, 200]
    const url = await openCollector((response) => response.writeHead(statuses.shift() ?? 500).end())
    const { sender, warnings } = openSender()
    await sender.post(url, BODY)
    expect(statuses).toEqual([])
    expect(warnings).toEqual([])
  })

  it('neither retries after a final refusal, nor follows redirects', async () => {
    for (const status of [400, 401, 307]) {
      let requests = 0
      const url = await openCollector((response) => {
        requests++
        response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end()
      })
      const { sender } = openSender()
      await expect(sender.post(url, BODY)).rejects.toThrow(`it answered ${status}`)
      expect(requests).toBe(1)
    }
  })

  it('gives up in time on a collector that never answers', async () => {
    const silent = await openCollector(() => {})
    const { sender, warnings } = openSender(50)
    await expect(sender.post(silent, BODY)).rejects.toThrow()
    expect(warnings).toEqual([expect.stringContaining('it does not answer in time')])
  })

  it('does not wait for the end of an answer that never ends', async () => {
    const endless = await openCollector((response) => void response.writeHead(200).write('x'))
    const { sender, warnings } = openSender()
    await sender.post(endless, BODY)
    expect(warnings).toEqual([])
  })

  it('stops immediately when it is closed, during an attempt and between two', async () => {
    for (const answer of [() => {}, (response: ServerResponse) => void response.writeHead(503).end()]) {
      const collector = new EventEmitter()
      let requests = 0
      const url = await openCollector((response) => {
        requests++
        answer(response)
        collector.emit('request-received')
      })
      const { sender, warnings } = openSender()
      const received = once(collector, 'request-received')
      const sent = sender.post(url, BODY)
      await received
      sender.close()
      await expect(sent).rejects.toThrow()
      expect(requests).toBe(1)
      expect(warnings).toEqual([])
    }
  })

  it('never shows the credentials of a URL', async () => {
    const { sender, warnings } = openSender()
    sender.stopRetrying()
    await expect(sender.post(new URL('http://user:hush@127.0.0.1:9/v1/traces?key=hush'), BODY)).rejects.toThrow()
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).not.toContain('hush')
  })
})
