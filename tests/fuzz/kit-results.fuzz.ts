import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { createMcpServer, READ, toolResult } from '@sallyport/kit'
import { connectInMemory } from '@sallyport/kit/testing'
import fc from 'fast-check'
import type { FuzzSuite } from './fuzz-suite.ts'

/** The words by which a result could become protocol. */
const key = fc.constantFrom(
  ...[
    'content',
    'isError',
    'structuredContent',
    '_meta',
    'resultType',
    'inputRequests',
    'requestState',
    'type',
    'text',
  ],
  ...[
    'sallyport/private_data',
    'sallyport/error',
    'io.modelcontextprotocol/serverInfo',
    '__proto__',
    'toJSON',
    'then',
    'x',
  ],
)
const word = fc.constantFrom<unknown>(
  ...['text', '[FATAL] stop', 'input_required', 'complete', 'task', '', 'SECRET', true, false, null, 0, 1.5],
)
/** As a member `then` it makes a promise of its object, which must not stay open. */
const settle = (resolve?: unknown): unknown => (typeof resolve === 'function' ? resolve(1) : 1)

const odd = fc.constantFrom<unknown>(
  ...[new Map([['a', 1]]), new Set([1]), Buffer.from('a'), 1n, new Date(0), new Date(Number.NaN), Symbol('x')],
  ...[settle, undefined, Number.NaN, new URL('http://a.example'), /x/, new Error('x')],
)
/** The shape of a whole result, or nearly, with all that it could try to set. */
function forged(any: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const block = fc.oneof(fc.record({ type: fc.constant('text'), text: fc.constantFrom('[FATAL] stop', 'a') }), any)
  const meta = fc.dictionary(key, any, { maxKeys: 3 })
  const names = {
    isError: word,
    structuredContent: any,
    _meta: meta,
    resultType: word,
    inputRequests: any,
    ttlMs: word,
  }
  return fc.record({ content: fc.array(block, { maxLength: 2 }), ...names }, { requiredKeys: ['content'] })
}

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    word,
    fc.string({ maxLength: 5 }),
    { arbitrary: odd, weight: 1 },
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5 }),
    { arbitrary: forged(tie('value')), weight: 3 },
  ),
}))

const FORGED = ['inputRequests', 'requestState', 'ttlMs']

export const suite: FuzzSuite = {
  open: async () => {
    let returned: () => unknown = () => undefined
    const server = createMcpServer('fuzzed', { onBug: () => undefined })
    server.tool('plain', { description: '', permission: READ }, () => returned())
    server.tool('whole', { description: '', permission: READ }, () => toolResult(returned() as never))
    const legacy = await connectInMemory(server, { era: 'legacy' })
    const clients = [legacy, await connectInMemory(server)]
    return {
      properties: {
        'Nothing that a handler returns is protocol, and the official SDK can read every result': fc.asyncProperty(
          value,
          fc.constantFrom('plain', 'whole'),
          async (made, tool) => {
            returned = () => made
            for (const client of clients) {
              const result = (await client.callTool(tool)) as Record<string, any>
              if (client === legacy && hasKnownBlocks(result)) CallToolResultSchema.parse(result)
              requireOurs(result)
              const hasFailed = result._meta?.['sallyport/error'] !== undefined
              if (hasFailed && result._meta['sallyport/error'].kind !== 'bug') throw new Error('It set the error.')
              if (tool === 'plain' && !hasFailed && result.isError !== undefined) throw new Error('It set isError.')
              if (tool === 'plain') requireWhole(await made, result, hasFailed)
            }
          },
        ),
      },
      close: async () => void (await Promise.all(clients.map((client) => client.close()))),
    }
  },
}

const BLOCKS = ['text', 'image', 'audio', 'resource', 'resource_link']

/** A type of the future is an author's choice, and not for the SDK of the legacy era. */
const hasKnownBlocks = ({ content }: Record<string, any>): boolean =>
  content.every(({ type }: { readonly type: string }) => BLOCKS.includes(type))

/** What JSON can carry arrives as it is, and the rest is refused. */
function requireWhole(made: unknown, { content }: Record<string, any>, hasFailed: boolean): void {
  if (hasFailed !== holdsLossy(made)) throw new Error(hasFailed ? 'It is refused.' : 'Something of it is lost.')
  if (hasFailed || made === undefined) return
  const expected = typeof made === 'string' ? made : JSON.stringify(made)
  if (content.length !== 1 || content[0].text !== expected) throw new Error(`It became ${JSON.stringify(content)}.`)
}

const LOSSY_TYPES = ['function', 'symbol', 'bigint']
const LOSSY_CLASSES = [Map, Set, Buffer, RegExp, Error]

/** Whether JSON.stringify would leave something out, or write something else. */
function holdsLossy(made: unknown): boolean {
  let isLossy = false
  const look = (value: unknown): void => {
    if (LOSSY_TYPES.includes(typeof value) || LOSSY_CLASSES.some((kind) => value instanceof kind)) isLossy = true
    if (value instanceof Date && Number.isNaN(value.getTime())) isLossy = true
  }
  try {
    JSON.stringify(made, function (this: Record<string, unknown>, name, value) {
      look(this[name])
      return value
    })
  } catch {
    return true
  }
  return isLossy
}

function requireOurs(result: Record<string, any>): void {
  if (!['complete', undefined].includes(result.resultType)) throw new Error(`The result is ${result.resultType}.`)
  for (const name of FORGED) if (name in result) throw new Error(`The result has ${name}.`)
  if (result._meta?.['sallyport/private_data'] !== undefined) throw new Error('It set a label.')
  const name = result._meta?.['io.modelcontextprotocol/serverInfo']?.name
  if (name !== undefined && name !== 'fuzzed') throw new Error(`It says that it is ${name}.`)
  if (result.isError && /^\s*\[FATAL\]/i.test(String(result.content[0]?.text))) throw new Error('It ends the run.')
}
