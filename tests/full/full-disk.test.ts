import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { endProcess, MAIN, makePlace, type Place, REPOSITORY, readRecords, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const COUNTING = join(REPOSITORY, 'tests/fixtures/counting-server.mjs')
const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** A home whose server notes on another disk what it executed. */
function place(): Place & { readonly executed: () => readonly string[] } {
  const made = makePlace()
  const file = join(made.home, 'executed')
  const counter = { command: 'node', args: [COUNTING, file] }
  made.writeConfig({ mcp_servers: { counter } })
  undo.push(() => made.remove())
  const executed = (): readonly string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  return { ...made, executed }
}

async function call(mcp: string, id: string): Promise<string> {
  const { message } = await modernRequest(mcp, 'tools/call', { name: 'counter_count', arguments: { id } })
  return message.result?.content[0].text ?? JSON.stringify(message)
}

function checkLog(state: string): void {
  const records = readRecords(state)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
}

/** A disk of one megabyte, where this user may mount one. */
function mountSmallDisk(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'sallyport-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    rmSync(path, { recursive: true })
    return undefined
  }
  undo.push(() => {
    execFileSync('umount', ['-l', path])
    rmSync(path, { recursive: true })
  })
  return path
}

function fill(disk: string): string {
  const file = join(disk, 'filler')
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
    } catch {
      // Full for this size: the next one fits into what is left.
    }
  }
  return file
}

/** Files of this process may grow no further than so many bytes: what a full disk is to whoever may not mount one. */
const limited = (bytes: number): readonly string[] => ['sh', '-c', `ulimit -S -f ${bytes / 512}; exec "$@"`, 'sh']

describe(`${promise('GOV-27')} a gateway that cannot record`, () => {
  it('refuses calls without running them, keeps running, and works again when there is room', async () => {
    const at = place()
    const [program = '', ...args] = [...limited(131_072), process.execPath, MAIN, 'serve', '--no-auth', '--json']
    const where = ['--port', '0', '--home', at.home, '--state', at.state]
    const child = spawn(program, [...args, ...where], { stdio: ['ignore', 'pipe', 'pipe'] })
    undo.push(() => endProcess(child))
    let words = ''
    child.stderr.on('data', (text) => {
      words += String(text)
    })
    const lines = (pattern: RegExp): number => words.split('\n').filter((line) => pattern.test(line)).length
    const [banner] = (await once(child.stdout, 'data')) as [Buffer]
    const { url } = JSON.parse(String(banner)) as { url: string }
    const readiness = async (): Promise<string> => {
      const answer = await fetch(url.replace('/mcp', '/readyz'))
      return `${answer.status} ${await answer.text()}`
    }
    await eventually(readiness, (word) => word === '200 ready')

    const answered: string[] = []
    let refused = ''
    for (let index = 0; refused === '' && index < 1_000; index++) {
      const answer = await call(url, `id-${index}`)
      if (answer === `id-${index}`) answered.push(answer)
      else refused = answer
    }
    expect(refused).toMatch(/(AUDIT_UNAVAILABLE|RESULT_WITHHELD).*EFBIG/s)
    expect(refused, 'where the log is does not concern an agent').not.toContain(at.state)
    expect(await readiness()).toBe('503 audit-unavailable')
    await eventually(
      () => lines(/cannot be written/),
      (count) => count > 0,
    )
    expect(words).toContain(
      `It is in ${join(at.state, 'logs')}. Every call is refused until it can be (audit.required).`,
    )
    const before = at.executed().length
    expect(before - answered.length, 'at most the one whose end could not be recorded').toBeLessThanOrEqual(1)
    for (let index = 0; index < 10; index++) expect(await call(url, 'refused')).toContain('AUDIT_UNAVAILABLE')
    expect(at.executed()).not.toContain('refused')
    expect((await fetch(url.replace('/mcp', '/healthz'))).status).toBe(200)

    execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
    // Without any call.
    await eventually(readiness, (word) => word === '200 ready')
    await eventually(
      () => lines(/can be written again/),
      (count) => count > 0,
    )
    expect([lines(/cannot be written/), lines(/can be written again/)]).toEqual([1, 1])
    const resumed = readRecords(at.state).filter(({ type }) => type === 'LOG_RESUMED')
    expect(resumed).toHaveLength(1)
    expect(resumed[0]?.unwritten).toBeGreaterThan(10)
    expect(await call(url, 'after')).toBe('after')
    checkLog(at.state)
    expect(child.exitCode).toBeNull()
  })

  const canMount = mountSmallDisk() !== undefined
  for (const step of undo.splice(0)) step()
  if (!canMount) return

  it('does so on a disk that is full, too', async () => {
    const small = mountSmallDisk() ?? ''
    const at = place()
    const state = join(small, 'state')
    const running = await runGateway({ place: { ...at, state, remove: () => {} } })
    undo.push(() => running.stop())
    expect(await call(running.mcp, 'before')).toBe('before')
    const filler = fill(small)
    // The last block of the log has room for a few more; whatever runs has its record.
    const full = await eventually(
      () => call(running.mcp, 'the last ones'),
      (text) => text !== 'the last ones',
    )
    expect(full).toMatch(/(AUDIT_UNAVAILABLE|RESULT_WITHHELD).*ENOSPC/s)
    const started = readRecords(state).filter(({ type }) => type === 'TOOL_CALL_STARTED')
    expect(at.executed()).toHaveLength(started.length)
    const late = await Promise.all(Array.from({ length: 20 }, () => call(running.mcp, 'too late')))
    for (const text of late) expect(text).toContain('AUDIT_UNAVAILABLE')
    expect(at.executed()).not.toContain('too late')
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
    rmSync(filler)
    expect(await call(running.mcp, 'after')).toBe('after')
    checkLog(state)
  })

  it('does not start on a disk that is full, says so, and loses nothing', async () => {
    const small = mountSmallDisk() ?? ''
    const at = place()
    const state = join(small, 'state')
    const first = await runGateway({ place: { ...at, state, remove: () => {} } })
    expect(await call(first.mcp, 'before')).toBe('before')
    await first.stop()
    const filler = fill(small)
    for (const flags of [['--port', '0'], ['--stdio']]) {
      const outcome = await runCommand(['serve', ...flags, '--json', '--home', at.home, '--state', state])
      expect(outcome.code, flags.join()).toBe(1)
      expect(errorOf(outcome)).toMatchObject({
        code: 'STATE_UNUSABLE',
        message: expect.stringContaining('ENOSPC'),
        hint: expect.stringContaining('Make room'),
      })
    }
    rmSync(filler)
    const second = await runGateway({ place: { ...at, state, remove: () => {} } })
    undo.push(() => second.stop())
    expect(await call(second.mcp, 'after')).toBe('after')
    checkLog(state)
  })
})
