import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Approver, createGateway } from '../../packages/gateway/dist/index.js'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, readRecords } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function open(approve?: Approver) {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-embedded-'))
  undo.push(() => rmSync(root, { recursive: true, force: true }))
  const [home, state, file] = [join(root, 'home'), join(root, 'state'), join(root, 'counted')]
  mkdirSync(home)
  const server = join(REPOSITORY, 'tests/fixtures/counting-server.mjs')
  const counter = { command: process.execPath, args: [server, file, 'delete_it'] }
  writeFileSync(join(home, 'config.yaml'), JSON.stringify({ mcp_servers: { counter } }))
  const warnings: string[] = []
  const onWarning = (text: string): void => void warnings.push(text)
  const gateway = await createGateway({ home, state, onWarning, ...(approve && { approve }) })
  undo.push(() => gateway.close())
  const made = (): readonly string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [])
  const remove = (id: string, signal?: AbortSignal) =>
    gateway.executeTool('counter/delete_it', { id }, signal ? { signal } : {})
  return { gateway, made, remove, warnings, state, home }
}

describe(`${promise('GOV-22')} a gateway inside a program`, () => {
  it('refuses a call that needs approval at once if the program has no `approve`', async () => {
    const { remove, made, state } = await open()
    const { success, error } = await remove('x')
    expect(success).toBe(false)
    expect(error).toMatchObject({ code: 'APPROVAL_REQUIRED', message: expect.stringContaining('`approve`') })
    expect(made()).toEqual([])
    expect(readRecords(state).map(({ type }) => type)).not.toContain('APPROVAL_REQUESTED')
  })

  it(`${promise('GOV-20')} asks the program, and follows its answer`, async () => {
    const asked: unknown[] = []
    const { remove, made, state } = await open(async ({ arguments: args, tool, risk, user }) => {
      asked.push({ args, tool, risk, user: typeof user })
      const { id } = args as { id: string }
      return id === 'bad' ? { answer: 'deny', why: 'it is bad' } : { answer: id === 'often' ? 'session' : 'once' }
    })
    expect(await remove('good')).toMatchObject({ success: true, output: 'good' })
    expect((await remove('bad')).error).toMatchObject({
      code: 'APPROVAL_DENIED',
      message: expect.stringContaining('it is bad'),
    })
    for (const id of ['often', 'often', 'good']) expect(await remove(id)).toMatchObject({ success: true })
    expect(asked).toHaveLength(4)
    expect(asked[0]).toEqual({ args: { id: 'good' }, tool: 'mcp__counter__delete_it', risk: 'high', user: 'string' })
    expect(made()).toEqual(['good', 'often', 'often', 'good'])
    const answered = readRecords(state).filter(({ type }) => type === 'APPROVAL_ANSWERED')
    expect(answered.every(({ by, via }) => by === 'the program' && via === 'program')).toBe(true)
  })

  it.each([
    ['throws', () => Promise.reject(new Error('out of order'))],
    [
      'throws at once',
      () => {
        throw new Error('out of order')
      },
    ],
    ['returns nothing', () => Promise.resolve(undefined)],
    ['returns true', () => Promise.resolve(true)],
    ['returns another word', () => Promise.resolve({ answer: 'yes' })],
  ])('treats it as a denial when the program %s', async (_, approve) => {
    const { remove, made, warnings } = await open(approve as unknown as Approver)
    expect((await remove('x')).error).toMatchObject({ code: 'APPROVAL_DENIED' })
    expect(warnings.join()).toContain('so the call is refused')
    expect(made()).toEqual([])
  })

  it('signals the program when its answer is no longer needed, and ignores a later answer', async () => {
    let isUnwanted: (() => void) | undefined
    const unwanted = new Promise<void>((resolve) => {
      isUnwanted = resolve
    })
    let begun: AbortSignal | undefined
    const { remove, made } = await open(async (_, signal) => {
      begun = signal
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      isUnwanted?.()
      return { answer: 'once' }
    })
    const stop = new AbortController()
    const result = remove('x', stop.signal)
    await eventually(() => begun !== undefined, Boolean)
    stop.abort()
    expect((await result).error).toMatchObject({ code: 'CALL_CANCELLED' })
    await unwanted
    expect(made()).toEqual([])
  })
})
