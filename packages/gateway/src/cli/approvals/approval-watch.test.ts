import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { SallyportError } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestHome, startProgram, type TestHome, waitForExit, waitForOutput } from '../cli.test-kit.ts'
import type { CliContext } from '../cli-context.ts'
import { runCli } from '../run-cli.ts'

const SERVER = fileURLToPath(new URL('../../../../../tests/fixtures/counting-server.mjs', import.meta.url))

/** Somebody at a terminal, who sees what is written and types. */
class Person {
  readonly keyboard = Object.assign(new PassThrough(), { isTTY: true })
  seen = ''
  readonly #screen = new PassThrough().setEncoding('utf8')
  readonly #left = new AbortController()

  constructor() {
    this.#screen.on('data', (text: string) => {
      this.seen += text
    })
  }

  watch(at: TestHome): Promise<number> {
    const output = Object.assign(this.#screen, { isTTY: true, columns: 100 })
    const context = {
      process: { stdout: output, stderr: output },
      environment: { PATH: process.env.PATH, SALLYPORT_HOME: at.home, SALLYPORT_STATE: at.state, NO_COLOR: '1' },
      cwd: at.home,
      stdin: this.keyboard,
      now: () => new Date(),
      signal: this.#left.signal,
    } as unknown as CliContext
    return runCli(['approvals', 'watch'], context)
  }

  async sees(text: string): Promise<void> {
    while (!this.seen.includes(text)) await once(this.#screen, 'data')
    this.seen = this.seen.slice(this.seen.indexOf(text) + text.length)
  }

  types(line: string): void {
    this.keyboard.write(`${line}\n`)
  }

  leaves(): void {
    this.#left.abort(new SallyportError('CALL_CANCELLED', 'Interrupted.'))
  }
}

describe('watching approvals at a terminal', () => {
  let at: TestHome
  let person: Person
  let watching: Promise<number>

  beforeEach(async () => {
    at = createTestHome()
    const args = [SERVER, join(at.home, 'counted'), 'delete_it']
    const counter = { command: process.execPath, args }
    writeFileSync(join(at.home, 'config.yaml'), JSON.stringify({ mcp_servers: { counter } }))
    writeFileSync(join(at.home, 'tools.yaml'), 'tools:\n  counter/delete_it:\n    requires_approval: true\n')
    const gateway = startProgram(['serve', '--port', '0', '--json'], { at })
    await waitForOutput(gateway.stdout, /\n/)
    person = new Person()
    watching = person.watch(at)
    await person.sees('Waiting for requests')
  })

  afterEach(async () => {
    person.leaves()
    expect(await watching).toBe(130)
  })

  const call = (id: string) =>
    waitForExit(startProgram(['call', 'counter/delete_it', '--args', JSON.stringify({ id })], { at }))
  const made = (): string => readFileSync(join(at.home, 'counted'), { encoding: 'utf8', flag: 'a+' })

  it('asks about each request with all its details, and accepts only yes, or no with a reason', async () => {
    const first = call('one')
    await person.sees('"id": "one"')
    await person.sees('[n] no > ')
    person.types('perhaps')
    await person.sees('[n] no > ')
    person.types('y')
    await person.sees('approved, this once')
    expect((await first).exit).toBe(0)
    const second = call('two')
    await person.sees('[n] no > ')
    person.types('n')
    await person.sees('Why?')
    person.types('not today')
    await person.sees('is refused')
    expect(await second).toMatchObject({ exit: 4, stderr: expect.stringContaining('not today') })
    expect(made()).toBe('one\n')
  })

  it('repeats the request after arguments that fill the screen', async () => {
    const refused = call('x\n'.repeat(2_000))
    await person.sees('"id": "x\\nx\\n')
    await person.sees(': mcp__counter__delete_it by any.default, risk high, with ')
    await person.sees(' characters of arguments')
    await person.sees('[n] no > ')
    person.types('n')
    await person.sees('Why?')
    person.types('')
    expect((await refused).exit).toBe(4)
  })

  it('withdraws a question when somebody else has answered, and continues with the next', async () => {
    const first = call('one')
    await person.sees('approval    ')
    await person.sees('[n] no > ')
    const waiting = await waitForExit(startProgram(['approvals', '--json'], { at }))
    const [{ id }] = JSON.parse(waiting.stdout).approvals
    await waitForExit(startProgram(['approvals', 'deny', id.slice(0, 5), '--why', 'elsewhere'], { at }))
    await person.sees('elsewhere')
    expect((await first).exit).toBe(4)
    const second = call('two')
    await person.sees('"id": "two"')
    await person.sees('[n] no > ')
    person.types('s')
    await person.sees('until the end of the session')
    expect((await second).exit).toBe(0)
    expect(made()).toBe('two\n')
  })

  it('shows what "always" writes before it writes it', async () => {
    const file = join(at.home, 'tools.yaml')
    const first = call('one')
    await person.sees('[n] no > ')
    const before = readFileSync(file, 'utf8')
    person.types('a')
    await person.sees('+     requires_approval: false # approved for good by ')
    await person.sees('[y/N] > ')
    person.types('n')
    await person.sees('[n] no > ')
    expect(readFileSync(file, 'utf8')).toBe(before)
    person.types('a')
    await person.sees('[y/N] > ')
    person.types('y')
    await person.sees('this tool no longer needs approval')
    expect((await first).exit).toBe(0)
    expect(readFileSync(file, 'utf8')).not.toBe(before)
    expect((await call('two')).exit).toBe(0)
  })
})
