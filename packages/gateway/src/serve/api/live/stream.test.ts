import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type AdminTestGateway, openAdminTestGateway } from '../../admin/admin.test-kit.ts'
import type { LiveMessages } from '../api.ts'

type Message = {
  [Name in keyof LiveMessages]: {
    readonly event: Name
    readonly id: number | undefined
    readonly data: LiveMessages[Name]
  }
}[keyof LiveMessages]

/** Reads the stream as an EventSource would. */
class StreamReader {
  readonly response: IncomingMessage
  readonly #messages: Message[] = []
  #text = ''
  #wake = (): void => {}
  #ended = false

  constructor(response: IncomingMessage) {
    this.response = response
    response.on('error', () => {})
    response.once('close', () => {
      this.#ended = true
      this.#wake()
    })
    response.on('data', (chunk) => {
      this.#text += String(chunk)
      const parts = this.#text.split('\n\n')
      this.#text = parts.pop() ?? ''
      for (const part of parts) if (!part.startsWith(':')) this.#messages.push(parseMessage(part))
      this.#wake()
    })
  }

  /** The next message that fits; the others before it are dropped. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const message = this.#messages.shift()
      if (message === undefined && this.#ended) throw new Error('The stream has ended.')
      if (message === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
      else if (fits(message)) return message
    }
  }

  /** Messages until the records have one of this type; returns all records until then. */
  async recordsUntil(type: string): Promise<{ readonly records: any[]; readonly id: number | undefined }> {
    const records: any[] = []
    for (;;) {
      const message = await this.next(({ event }) => event === 'records')
      if (message.event === 'records') records.push(...message.data.records)
      if (records.some((record) => record.type === type)) return { records, id: message.id }
    }
  }
}

function parseMessage(text: string): Message {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
  const id = field('id')
  return {
    event: field('event'),
    id: id === undefined ? undefined : Number(id),
    data: JSON.parse(field('data') ?? 'null'),
  } as Message
}

async function openReader(admin: AdminTestGateway, headers: Record<string, string> = {}, query = '') {
  const authorization = `Bearer ${admin.operatorToken}`
  const sent = request(`${admin.url}/api/stream${query}`, {
    headers: { ...('cookie' in headers ? {} : { authorization }), ...headers },
    agent: false,
  })
  sent.on('error', () => {})
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { reader: new StreamReader(response), close: () => sent.destroy() }
}

const call = (admin: AdminTestGateway, tool: string) => admin.api('/api/call', { method: 'POST', body: { tool } })
const isState = ({ event }: Message) => event === 'state'

describe('the live stream', () => {
  it('begins with the state, then sends what is recorded and what changes', async () => {
    const admin = await openAdminTestGateway()
    const { reader, close } = await openReader(admin)
    expect(reader.response.headers['content-type']).toBe('text/event-stream')
    const state = await reader.next(isState)
    expect(state.data).toMatchObject({ mode: { mode: 'NORMAL' }, attention: { approvals: 0 }, callsInFlight: 0 })
    const servers = await reader.next(({ event }) => event === 'servers')
    expect(JSON.stringify(servers.data)).toContain('"hostile"')
    await call(admin, 'hostile/echo')
    const { records } = await reader.recordsUntil('TOOL_CALL_COMPLETED')
    expect(records.map(({ type }) => type)).toContain('TOOL_CALL_STARTED')
    await admin.api('/api/mode', { method: 'PUT', body: { mode: 'LOCKDOWN' } })
    await reader.next((message) => message.event === 'state' && message.data.mode.mode === 'LOCKDOWN')
    close()
  })

  it('sends what was missed to a reader that resumes, without a gap or a duplicate', async () => {
    const admin = await openAdminTestGateway()
    const first = await openReader(admin)
    await first.reader.next(isState)
    await call(admin, 'hostile/echo')
    const { id } = await first.reader.recordsUntil('TOOL_CALL_COMPLETED')
    first.close()
    await call(admin, 'hostile/die')
    const { events } = (await admin.api('/api/events')).body
    const missed = events.map(({ seq }: { seq: number }) => seq).filter((seq: number) => seq > Number(id))
    const second = await openReader(admin, { 'last-event-id': String(id) })
    await call(admin, 'hostile/echo')
    const { records } = await second.reader.recordsUntil('TOOL_CALL_COMPLETED')
    const numbers = records.map(({ seq }) => seq)
    expect(numbers.slice(0, missed.length)).toEqual(missed)
    expect(new Set(numbers).size).toBe(numbers.length)
    second.close()
  })

  it('tells a reader with an unknown number to read everything again', async () => {
    const admin = await openAdminTestGateway()
    const { reader, close } = await openReader(admin, {}, '?after=999999')
    expect(await reader.next(({ event }) => event === 'reset')).toMatchObject({ event: 'reset' })
    close()
  })

  it('listens to the log only while somebody reads', async () => {
    const admin = await openAdminTestGateway()
    const { log } = admin.gateway.store
    const watchWrites = log.watchWrites.bind(log)
    let watching = 0
    const stopped = new Promise<void>((resolve) => {
      log.watchWrites = (listener) => {
        watching++
        const unwatch = watchWrites(listener)
        return () => {
          unwatch()
          resolve()
        }
      }
    })
    const one = await openReader(admin)
    const other = await openReader(admin)
    await Promise.all([one, other].map(({ reader }) => reader.next(isState)))
    expect(watching).toBe(1)
    one.close()
    other.close()
    await stopped
  })

  it('ends when the browser logs out', async () => {
    const admin = await openAdminTestGateway()
    const login = await admin.ask(`/login?token=${admin.gateway.logins.mintLoginCode()}`)
    const cookie = String(login.headers['set-cookie']?.[0]?.split(';')[0])
    const { reader } = await openReader(admin, { cookie })
    await reader.next(isState)
    const closed = new Promise((resolve) => reader.response.once('close', resolve))
    const headers = { cookie, origin: admin.origin, 'x-sallyport': '1' }
    expect((await admin.ask('/logout', { method: 'POST', headers })).status).toBe(204)
    await closed
  })

  it.each([
    ['/api/stream?after=-1', 400],
    ['/api/stream?afterr=1', 400],
  ])('refuses %s', async (path, status) => {
    const admin = await openAdminTestGateway()
    expect((await admin.api(path)).status).toBe(status)
  })

  it('refuses an agent and a caller without a credential', async () => {
    const admin = await openAdminTestGateway()
    expect((await admin.ask('/api/stream')).status).toBe(401)
    const headers = { authorization: `Bearer ${admin.agentToken}` }
    expect((await admin.ask('/api/stream', { headers })).status).toBe(403)
  })
})
