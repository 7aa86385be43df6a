import { afterEach, describe, expect, test, vi } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { createMcpServer } from './mcp-server.ts'
import type { Bug } from './offers/definitions.ts'
import { READ } from './permission.ts'
import { connectInMemory } from './testing/testing.ts'
import { ToolFatalError, ToolRetryError } from './tool-error.ts'
import type { ToolResult } from './tool-result.ts'

const ERROR = 'sallyport/error'

async function callThrowing(thrown: unknown, bugs: Bug[] = []): Promise<ToolResult> {
  const server = createMcpServer('sample', { version: '1', onBug: (bug) => bugs.push(bug) })
  server.tool('fail', { description: '', permission: READ }, () => {
    throw thrown
  })
  const client = await connectInMemory(server)
  return client.callTool('fail')
}

const text = ({ content }: ToolResult): string => String(content[0]?.text)

afterEach(() => vi.restoreAllMocks())

describe(`errors of tools over the wire (${promise('KIT-9')})`, () => {
  test('an error that the model can correct has its author’s text', async () => {
    const result = await callThrowing(new ToolRetryError('Give a date such as 2024-05-01.'))
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Give a date such as 2024-05-01.' }],
    })
    expect(result._meta?.[ERROR]).toEqual({ kind: 'retry', reason: 'Give a date such as 2024-05-01.' })
  })

  test('a fatal one begins with [FATAL], and its parts are separate members', async () => {
    const result = await callThrowing(new ToolFatalError('The database is down.', { nextStep: 'Start it.' }))
    expect(result.isError).toBe(true)
    expect(text(result)).toBe('[FATAL] The database is down. Start it.')
    expect(result._meta?.[ERROR]).toEqual({ kind: 'fatal', reason: 'The database is down.', next_step: 'Start it.' })
  })

  test('subclasses of our error classes keep their tier', async () => {
    class NoSuchRow extends ToolRetryError {}
    expect((await callThrowing(new NoSuchRow('No row 7.')))._meta?.[ERROR]).toMatchObject({ kind: 'retry' })
  })

  test.each(['[FATAL] stop', ' [FATAL] stop', '[fatal] stop'])(
    'an echo of "%s" does not count as fatal',
    async (echo) => {
      const result = await callThrowing(new ToolRetryError(`${echo} is no date.`))
      expect(text(result)).toBe(`The tool said: ${echo} is no date.`)
    },
  )

  const secret = 'password=hunter2'
  const hostile = Object.defineProperty(new ToolRetryError('x'), 'message', {
    get: () => {
      throw new Error(secret)
    },
  })
  const proxy = new Proxy(new ToolRetryError(secret), {
    getPrototypeOf: () => {
      throw new Error(secret)
    },
  })
  const unprintable = Object.defineProperty(new Error(secret), 'stack', {
    get: () => {
      throw new Error(secret)
    },
  })
  test.each<[string, unknown]>([
    ['an error', new Error(secret)],
    ['an error of Node with a path', Object.assign(new Error(`ENOENT ${secret}`), { code: 'ENOENT', path: secret })],
    ['a text', secret],
    ['a number', 7],
    ['undefined', undefined],
    ['null', null],
    ['an object', { message: secret, name: 'ToolRetryError', kind: 'retry' }],
    ['an object without a prototype', Object.create(null)],
    ['a function', () => secret],
    ['a symbol', Symbol(secret)],
    ['an error whose message throws when it is read', hostile],
    ['a proxy that throws when it is inspected', proxy],
    ['an error whose stack throws when it is read', unprintable],
    ['an aggregate', new AggregateError([new ToolRetryError(secret)], secret)],
    ['an error with a tool error as its cause', new Error(secret, { cause: new ToolRetryError(secret) })],
  ])('%s is a bug: the model gets an incident id, the log has the details', async (_, thrown) => {
    const bugs: Bug[] = []
    const result = await callThrowing(thrown, bugs)
    expect(bugs).toHaveLength(1)
    expect(bugs[0]?.error === thrown).toBe(true)
    const reason = `Something went wrong inside the server (incident ${bugs[0]?.incident}).`
    expect(result).toMatchObject({ isError: true, _meta: { [ERROR]: { kind: 'bug', reason } } })
    expect(text(result)).toContain(reason)
    expect(JSON.stringify(result)).not.toMatch(/hunter2|password|ENOENT/)
  })

  test('every incident has a unique id', async () => {
    const bugs: Bug[] = []
    for (let count = 0; count < 20; count++) await callThrowing(new Error('x'), bugs)
    expect(new Set(bugs.map(({ incident }) => incident)).size).toBe(20)
  })

  test('rejected promises, thenables that throw and results that JSON cannot represent are reported the same way', async () => {
    const bugs: Bug[] = []
    const server = createMcpServer('sample', { version: '1', onBug: (bug) => bugs.push(bug) })
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const handlers: Record<string, () => unknown> = {
      rejects: () => Promise.reject(new Error('secret')),
      retries: () => Promise.reject(new ToolRetryError('Again.')),
      thenable: () => ({
        // biome-ignore lint/suspicious/noThenProperty: a promise of another library, and a broken one
        then: () => {
          throw new Error('secret')
        },
      }),
      cycle: () => cycle,
      bigint: () => 1n,
      toJson: () => ({
        toJSON: () => {
          throw new Error('secret')
        },
      }),
    }
    for (const [name, handler] of Object.entries(handlers))
      server.tool(name, { description: '', permission: READ }, handler)
    const client = await connectInMemory(server)
    for (const name of Object.keys(handlers)) {
      const result = await client.callTool(name)
      expect(result.isError, name).toBe(true)
      expect(JSON.stringify(result)).not.toContain('secret')
      expect(result._meta?.[ERROR], name).toMatchObject({ kind: name === 'retries' ? 'retry' : 'bug' })
    }
    expect(bugs).toHaveLength(5)
  })

  test('very long texts of an author are cut, and never within a character', async () => {
    const endless = new ToolFatalError(`${'x'.repeat(5999)}😀${'y'.repeat(10_000_000)}`, {
      nextStep: 'z'.repeat(10_000_000),
    })
    const result = await callThrowing(endless)
    expect(text(result).length).toBeLessThan(8000)
    expect(JSON.stringify(result).length).toBeLessThan(16_000)
    expect(text(result)).not.toMatch(/\p{Surrogate}/u)
  })

  test('a log that throws, or an error that cannot be printed, does not prevent the caller’s answer', async () => {
    const printed: unknown[][] = []
    vi.spyOn(console, 'error').mockImplementation((...parts: unknown[]) => {
      printed.push(parts)
      if (parts.length > 1) throw new Error('cannot be printed')
    })
    const server = createMcpServer('sample', {
      version: '1',
      onBug: () => {
        throw new Error('the log is full')
      },
    })
    server.tool('fail', { description: '', permission: READ }, () => {
      throw new Error('secret')
    })
    const client = await connectInMemory(server)
    expect(await client.callTool('fail')).toMatchObject({ isError: true, _meta: { [ERROR]: { kind: 'bug' } } })
    expect(printed.at(-1)).toEqual([expect.stringMatching(/^incident .+ an error that cannot be printed$/)])
  })
})
