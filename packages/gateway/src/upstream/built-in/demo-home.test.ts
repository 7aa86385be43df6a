import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings, type StdioServerConfig } from '../../config/config.ts'
import { createBuiltInServer } from './built-in-server.ts'

const DEMO = fileURLToPath(new URL('../../../demo', import.meta.url))
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

type Message = Record<string, any>

/** One of the demo's servers, started as its config says. */
class DemoServer {
  readonly received: Message[] = []
  readonly #child: ChildProcessWithoutNullStreams
  readonly #arrivals = new EventEmitter()
  #lastId = 0

  constructor({ command, args, cwd }: StdioServerConfig) {
    this.#child = spawn(command === 'node' ? process.execPath : command, args, { cwd })
    createInterface(this.#child.stdout).on('line', (line) => {
      this.received.push(JSON.parse(line))
      this.#arrivals.emit('message')
    })
  }

  send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  start(method: string, params: object = {}): number {
    const id = ++this.#lastId
    this.send({ id, method, params: { ...params, _meta: { ...META, progressToken: id } } })
    return id
  }

  async request(method: string, params: object = {}): Promise<Message> {
    const id = this.start(method, params)
    return this.find((message) => message.id === id)
  }

  async call(name: string, args: object = {}): Promise<Message> {
    return (await this.request('tools/call', { name, arguments: args })).result
  }

  async find(matches: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.received.find(matches)
      if (found !== undefined) return found
      await once(this.#arrivals, 'message')
    }
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.stdin.end()
    expect(await exited).toEqual([0, null])
  }
}

const started: DemoServer[] = []

async function startServer(id: string): Promise<DemoServer> {
  const { settings } = await loadSettings({ home: DEMO, environment: {} })
  const server = new DemoServer(settings.servers.find((entry) => entry.id === id) as StdioServerConfig)
  started.push(server)
  return server
}

afterEach(async () => {
  for (const server of started.splice(0)) await server.close()
})

test('the demo’s config is read without a warning', async () => {
  const { settings, warnings } = await loadSettings({ home: DEMO, environment: {} })
  expect(warnings).toEqual([])
  expect(settings.servers.map(({ id }) => id)).toEqual(['notes', 'clock'])
})

test('tools.yaml has an entry for every existing tool, and for no other', async () => {
  const { tools } = parse(await readFile(`${DEMO}/tools.yaml`, 'utf8'))
  const listed = ['notes', 'clock'].map(async (id) => {
    const { result } = await (await startServer(id)).request('tools/list')
    return result.tools.map(({ name }: { name: string }) => `mcp__${id}__${name}`)
  })
  const builtIn = await listBuiltIn()
  expect(Object.keys(tools).sort()).toEqual([...(await Promise.all(listed)).flat(), ...builtIn].sort())
})

async function listBuiltIn(): Promise<readonly string[]> {
  const answers = new EventEmitter()
  const connection = createBuiltInServer({ dataFolder: DEMO, version: '1' }).connect((answer) =>
    answers.emit('answer', answer),
  )
  const answered = once(answers, 'answer')
  connection.receive({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } })
  const [{ result }] = await answered
  return result.tools.map(({ name }: { name: string }) => `mcp__sallyport__${name}`)
}

test('the reviewer’s selection names servers and tools that exist', async () => {
  const { executors } = JSON.parse(await readFile(`${DEMO}/profiles.json`, 'utf8'))
  expect(executors.CLAUDE_CODE.DEFAULT).toEqual({})
  const selected: readonly string[] = executors.CLAUDE_CODE.REVIEWER.selected_mcp_tools
  const servers = selected.map((selector) => selector.replace(/^!/, '').split('/')[0])
  expect(new Set(servers)).toEqual(new Set(['sallyport', 'clock', 'notes']))
})

test('notes are created, found, read and deleted, and each is a resource while it exists', async () => {
  const notes = await startServer('notes')
  notes.start('subscriptions/listen', { notifications: { resourcesListChanged: true } })
  const { id } = (await notes.call('create_note', { title: 'Milk', text: 'Two bottles' })).structuredContent
  await notes.find(({ method }) => method === 'notifications/resources/list_changed')
  expect((await notes.call('search_notes', { words: 'BOTTLES' })).structuredContent).toEqual([{ id, title: 'Milk' }])
  expect((await notes.call('read_note', { id })).structuredContent).toMatchObject({ text: 'Two bottles' })
  const { result } = await notes.request('resources/read', { uri: `notes://${id}` })
  expect(result.contents[0].text).toBe('Two bottles')
  expect((await notes.call('delete_note', { id })).content[0].text).toBe('Deleted "Milk".')
  expect((await notes.call('read_note', { id })).isError).toBe(true)
  expect((await notes.call('search_notes', { words: 'bottles' })).structuredContent).toEqual([])
  expect((await notes.request('resources/read', { uri: `notes://${id}` })).error.code).toBe(-32602)
})

test('the prompt of the notes asks for its reader', async () => {
  const notes = await startServer('notes')
  const prompt = { name: 'summarise_notes', arguments: { reader: 'Ada' } }
  expect((await notes.request('prompts/get', prompt)).result.messages[0].content.text).toContain('for Ada')
})

test('the clock knows time zones, and explains how to write an unknown one', async () => {
  const clock = await startServer('clock')
  const { structuredContent } = await clock.call('convert_time', { moment: '2026-01-15T12:00Z', zone: 'Asia/Tokyo' })
  expect(structuredContent).toMatchObject({ zone: 'Asia/Tokyo', utc: '2026-01-15T12:00:00.000Z' })
  expect(structuredContent.local).toContain('21:00:00')
  expect((await clock.call('current_time', { zone: 'Mars/Olympus' })).content[0].text).toContain('Asia/Tokyo')
  expect((await clock.call('convert_time', { moment: 'noon', zone: 'UTC' })).isError).toBe(true)
})

test('a countdown reports its progress and stops when it is cancelled', async () => {
  const clock = await startServer('clock')
  const id = clock.start('tools/call', { name: 'countdown', arguments: { seconds: 300 } })
  const first = await clock.find(({ method }) => method === 'notifications/progress')
  expect(first.params).toEqual({ progressToken: id, progress: 0, total: 300, message: '300 s left' })
  clock.send({ method: 'notifications/cancelled', params: { requestId: id } })
  await clock.call('current_time')
  expect(clock.received.some((message) => message.id === id)).toBe(false)
})

test('a countdown ends when its peer disconnects', async () => {
  const clock = await startServer('clock')
  clock.start('tools/call', { name: 'countdown', arguments: { seconds: 300 } })
  await clock.find(({ method }) => method === 'notifications/progress')
})
