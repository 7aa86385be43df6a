import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMcpServer, privateData, READ } from '@sallyport/kit'
import { connectInMemory } from '@sallyport/kit/testing'
import fc from 'fast-check'
import type { FuzzSuite } from './fuzz-suite.ts'

/** Labels are synced to the disk, which takes most of the time: a file system in memory if there is one. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

const LEVELS = ['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET']
const name = fc.oneof(
  fc.constantFrom<unknown>('pay', 'weather', '', null, undefined, 7, {}, 'x'.repeat(16_385)),
  fc.string({ maxLength: 4 }),
)
const level = fc.oneof(
  { arbitrary: fc.constantFrom<unknown>(...LEVELS), weight: 3 },
  fc.constantFrom<unknown>('secret', 'Secret', ' SECRET', 'TOP', null, undefined, 3, [], Symbol('SECRET'), 'toString'),
)
const way = fc.constantFrom('awaited', 'caught', 'left', 'later', 'nested')
const statement = fc.record({ name, level, way })
type Statement = typeof statement extends fc.Arbitrary<infer Made> ? Made : never

const isValid = ({ name: label, level: of }: Statement): boolean =>
  typeof label === 'string' && label !== '' && label.length <= 16_384 && LEVELS.includes(of as string)

/** Makes a statement in the way that it says, and loses what comes of it. */
async function make({ name: label, level: of, way: how }: Statement): Promise<void> {
  const stated = (): Promise<unknown> => privateData().addPrivateDataset(label as never, of as never)
  if (how === 'left') void stated()
  else if (how === 'nested') void Promise.resolve().then(() => void stated())
  else if (how === 'later') await Promise.resolve().then(() => void stated())
  else await stated().catch(() => undefined)
}

/** How many turns a statement comes after the result was returned, and how it is meant for its call. */
const late = fc.record({ statement, turns: fc.nat({ max: 40 }), isKept: fc.boolean() })
type Late = typeof late extends fc.Arbitrary<infer Made> ? Made : never

async function makeLate({ statement: { name: label, level: of }, turns, isKept }: Late): Promise<void> {
  const kept = privateData()
  for (let turn = 0; turn < turns; turn++) await undefined
  await (isKept ? kept : privateData()).addPrivateDataset(label as never, of as never).catch(() => undefined)
}

export const suite: FuzzSuite = {
  open: () => {
    const dataFolder = mkdtempSync(join(MEMORY, 'sallyport-fuzz-labels-'))
    let statements: readonly Statement[] = []
    let afterwards: Late | undefined
    let stating: Promise<unknown> | undefined
    let session = 0
    let bugs = 0
    const server = createMcpServer('fuzzed', { dataFolder, onBug: () => void bugs++ })
    server.tool('load', { description: '', permission: READ }, async () => {
      for (const each of statements) await make(each)
      return 'the data'
    })
    server.tool('leave', { description: '', permission: READ }, () => {
      if (afterwards !== undefined) stating = makeLate(afterwards)
      return 'the data'
    })
    const connect = () => connectInMemory(server, { userId: 'ada', sessionId: `s${session++}` })
    return {
      properties: {
        'A result leaves only with the label of every statement': fc.asyncProperty(
          fc.array(statement, { maxLength: 4 }),
          async (made) => {
            statements = made
            const client = await connect()
            const result = (await client.callTool('load')) as Record<string, any>
            await client.close()
            const isReleased = JSON.stringify(result.content).includes('the data')
            if (isReleased !== made.every(isValid))
              throw new Error(isReleased ? 'It was released.' : 'It was withheld.')
            if (!isReleased || made.length === 0) return
            const expected = Math.max(...made.map(({ level: of }) => LEVELS.indexOf(of as string)))
            const label = result._meta?.['sallyport/private_data']?.sensitivity
            if (label !== LEVELS[expected]) throw new Error(`The label is ${label}.`)
          },
        ),
        'A statement in any turn is part of the result, or is reported': fc.asyncProperty(late, async (made) => {
          statements = []
          afterwards = made
          bugs = 0
          const client = await connect()
          const result = (await client.callTool('leave')) as Record<string, any>
          await stating
          const next = (await client.callTool('load')) as Record<string, any>
          await client.close()
          const isReleased = JSON.stringify(result.content).includes('the data')
          if (isReleased && result._meta?.['sallyport/private_data'] === undefined && bugs === 0)
            throw new Error('It was lost.')
          const expected = isValid(made.statement) ? made.statement.level : 'SECRET'
          const label = next._meta?.['sallyport/private_data']?.sensitivity
          if (label !== expected) throw new Error(`The label is ${label} afterwards.`)
        }),
      },
      close: () => rmSync(dataFolder, { recursive: true, force: true }),
    }
  },
}
