import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { errorOf, type Outcome, runCommand } from '../harness/run-command.ts'
import {
  endProcess,
  MAIN,
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  type RunOptions,
  readRecords,
  runGateway,
} from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { createChangingTools } from './changing-tools.ts'

const HOSTILE = join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')
const CONFIG = {
  mcp_servers: { hostile: { command: 'node', args: [HOSTILE], exclude_tools: ['die'] } },
}

async function gateway(options: RunOptions = { config: CONFIG }): Promise<RunningGateway> {
  const running = await runGateway(options)
  onTestFinished(() => running.stop())
  return running
}

function emptyPlace(): Place {
  const place = makePlace()
  onTestFinished(() => place.remove())
  return place
}

const run = ({ home, state }: Place, ...args: readonly string[]): Promise<Outcome> =>
  runCommand([...args, '--home', home, '--state', state])

async function modeOf(place: Place): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await run(place, 'mode', '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

const modeChanges = (state: string): readonly string[] =>
  readRecords(state)
    .filter(({ type }) => type === 'MODE_CHANGED')
    .map(({ from, to, by }) => `${from} ${to} ${by === 'automatic' ? 'automatic' : 'person'}`)

async function call(mcp: string, name: string, args: object = {}): Promise<string> {
  const { message } = await modernRequest(mcp, 'tools/call', { name, arguments: args })
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}

/** Makes calls one after the other until it is stopped. */
function keepCalling(mcp: string) {
  let stopped = false
  const calling = Promise.all(
    Array.from({ length: 5 }, async () => {
      while (!stopped) await call(mcp, 'hostile_echo', { text: 'x' })
    }),
  )
  return async (): Promise<void> => {
    stopped = true
    await calling
  }
}

describe(`${promise('GOV-13')} panic`, () => {
  it('is in force before it is answered, while other terminals call and wait', async () => {
    const running = await gateway()
    const slow = call(running.mcp, 'hostile_sleep', { ms: 1_500 })
    await eventually(
      () => running.records(),
      (records) => records.some(({ type }) => type === 'TOOL_CALL_STARTED'),
    )
    const stop = keepCalling(running.mcp)
    onTestFinished(stop)
    const outcome = await run(running, 'panic', '--why', 'a key leaked')
    expect(outcome).toMatchObject({ code: 0, stdout: '' })
    expect(outcome.stderr).toMatch(/^LOCKDOWN is in force\. .*\nTo go back: `sallyport mode RECOVERY/)
    expect(await modeOf(running)).toMatchObject({
      mode: 'LOCKDOWN',
      via: 'cli',
      why: 'a key leaked',
      next: ['RECOVERY'],
    })
    expect(modeChanges(running.state)).toEqual(['NORMAL LOCKDOWN person'])
    expect(await call(running.mcp, 'hostile_echo')).toMatch(/MODE_FORBIDS.*The mode is LOCKDOWN \(a key leaked\)/)
    expect(await slow, 'a call in flight still finishes').toBe('done')
    const records = running.records()
    const later = records.slice(records.findIndex(({ type }) => type === 'MODE_CHANGED'))
    const denied = new Set(later.flatMap(({ type, call_id }) => (type === 'POLICY_DENIED' ? [call_id] : [])))
    expect(denied.size).toBeGreaterThan(0)
    expect(later.filter(({ type, call_id }) => type === 'TOOL_CALL_STARTED' && !denied.has(call_id))).toEqual([])
  })

  it('is announced to clients as changed lists', async () => {
    const running = await gateway()
    const client = await LegacyClient.open(running.mcp)
    const headers = { accept: 'text/event-stream', 'mcp-session-id': client.session }
    const listening = await fetch(running.mcp, { headers })
    const reader = listening.body?.pipeThrough(new TextDecoderStream()).getReader()
    onTestFinished(async () => reader?.cancel())
    await run(running, 'panic')
    let received = ''
    while (!received.includes('notifications/tools/list_changed')) received += (await reader?.read())?.value ?? ''
  })

  it('survives a kill at the moment it was answered', async () => {
    const place = emptyPlace()
    const first = await gateway({ place })
    expect((await run(place, 'panic')).code).toBe(0)
    const gone = once(first.child, 'exit')
    first.child.kill('SIGKILL')
    await gone
    const second = await gateway({ place })
    expect(second.stderr()).toMatch(/The mode is LOCKDOWN, set by \S+ \(panic\)/)
    expect(await modeOf(place)).toMatchObject({ mode: 'LOCKDOWN', why: 'panic' })
  })

  it('works even if there are no free descriptors for the API', async () => {
    const place = emptyPlace()
    const serve = [
      process.execPath,
      MAIN,
      'serve',
      '--home',
      place.home,
      '--state',
      place.state,
      '--port',
      '0',
      '--json',
    ]
    const child = spawn('sh', ['-c', 'ulimit -n 200 && exec "$0" "$@"', ...serve], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => endProcess(child))
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const { port, hostname } = new URL(JSON.parse(line).url)
    const idle: Socket[] = []
    onTestFinished(() => idle.forEach((socket) => void socket.destroy()))
    for (let count = 0; count < 100; count++) {
      const socket = connect(Number(port), hostname).on('error', () => {})
      idle.push(socket)
      await once(socket, 'connect')
    }
    expect(errorOf(await run(place, 'servers', '--json')).code).toBe('OVERLOADED')
    expect(await run(place, 'panic')).toMatchObject({ code: 0 })
    expect(JSON.parse(readFileSync(join(place.state, 'mode.json'), 'utf8')).mode).toBe('LOCKDOWN')
  })

  it('in two terminals at once is one change', async () => {
    const running = await gateway()
    const outcome = await Promise.all([run(running, 'panic'), run(running, 'panic'), run(running, 'panic')])
    expect(outcome.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(modeChanges(running.state)).toEqual(['NORMAL LOCKDOWN person'])
  })
})

describe('without a gateway', () => {
  it('the mode is set for the next one, and recorded', async () => {
    const place = emptyPlace()
    expect(await modeOf(place)).toMatchObject({ mode: 'NORMAL' })
    expect((await run(place, 'mode', 'alert', '--why', 'before the weekend')).code).toBe(0)
    expect(modeChanges(place.state)).toEqual(['NORMAL ALERT person'])
    const running = await gateway({ place })
    const headers = { authorization: `Bearer ${running.token('operator')}` }
    const status = (await (await fetch(`${running.url}/api/status`, { headers })).json()) as { mode: string }
    expect(status.mode).toBe('ALERT')
  })

  it('two commands at once follow one another', async () => {
    const place = emptyPlace()
    const outcome = await Promise.all([run(place, 'mode', 'ALERT'), run(place, 'panic')])
    const codes = outcome.map(({ code }) => code)
    // What came after LOCKDOWN may not follow it.
    expect([
      [0, 0],
      [4, 0],
    ]).toContainEqual(codes)
    expect(await modeOf(place)).toMatchObject({ mode: 'LOCKDOWN' })
    const [first] = codes
    expect(modeChanges(place.state)).toEqual(
      first === 0 ? ['NORMAL ALERT person', 'ALERT LOCKDOWN person'] : ['NORMAL LOCKDOWN person'],
    )
  })
})

describe('a damaged file', () => {
  it('means LOCKDOWN, is reported at the start and by doctor, and a person can leave it', async () => {
    const place = emptyPlace()
    expect((await run(place, 'mode', 'ALERT')).code).toBe(0)
    writeFileSync(join(place.state, 'mode.json'), '{"mode":"NOR')
    const doctor = await run(place, 'doctor')
    expect(doctor.code).toBe(6)
    expect(doctor.stdout).toMatch(/✗ mode .*mode\.json is not a JSON object: the next gateway begins in LOCKDOWN/)
    const running = await gateway({ place })
    expect(running.stderr()).toMatch(/mode\.json is not a JSON object, so LOCKDOWN is in force\. .*mode RECOVERY/)
    const shown = await run(place, 'mode', '--json')
    expect(JSON.parse(shown.stdout)).toMatchObject({ mode: 'LOCKDOWN', by: 'automatic' })
    expect((await run(place, 'mode', 'RECOVERY', '--why', 'looked at it')).code).toBe(0)
    expect((await run(place, 'mode', 'NORMAL', '--why', 'it was the editor')).code).toBe(0)
    expect(await modeOf(place)).toMatchObject({ mode: 'NORMAL', why: 'it was the editor' })
  })
})

describe('a full disk', () => {
  const limit = ({ child }: RunningGateway, bytes: number | 'unlimited'): Buffer =>
    execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`])

  it('cannot prevent LOCKDOWN, nor its survival of a restart', async () => {
    const place = emptyPlace()
    const first = await gateway({ place })
    expect((await run(place, 'mode', 'ALERT')).code).toBe(0)
    limit(first, 0)
    const outcome = await run(place, 'panic', '--json')
    expect(outcome.code).toBe(0)
    expect(JSON.parse(outcome.stdout)).toMatchObject({
      mode: 'LOCKDOWN',
      before: 'ALERT',
      problem: expect.stringMatching(
        /in force, but could not be stored: .*EFBIG.*still be in force, but without who set it/,
      ),
    })
    const gone = once(first.child, 'exit')
    first.child.kill('SIGKILL')
    await gone
    await gateway({ place })
    expect((await run(place, 'mode')).stdout).toMatch(/^mode +LOCKDOWN$/m)
  })

  it('prevents a less strict mode, and pending writes follow when there is room', async () => {
    const running = await gateway({})
    limit(running, 0)
    expect((await run(running, 'mode', 'RECOVERY')).code).toBe(0)
    const refused = await run(running, 'mode', 'NORMAL', '--why', 'over', '--json')
    expect([refused.code, errorOf(refused).code]).toEqual([5, 'AUDIT_UNAVAILABLE'])
    limit(running, 'unlimited')
    await eventually(
      () => run(running, 'mode', '--json'),
      ({ stdout }) => JSON.parse(stdout).problem === undefined,
    )
    expect(modeChanges(running.state)).toEqual(['NORMAL RECOVERY person'])
    expect((await run(running, 'mode', 'NORMAL', '--why', 'over')).code).toBe(0)
  })
})

it('each mode allows its tools again, once a person has set it', async () => {
  const running = await gateway()
  expect(await call(running.mcp, 'hostile_echo')).toBe('{}')
  await run(running, 'panic')
  expect(await call(running.mcp, 'hostile_echo')).toContain('MODE_FORBIDS')
  await run(running, 'mode', 'RECOVERY', '--why', 'looking')
  expect(await call(running.mcp, 'sallyport_list_directory', { path: '.' })).not.toContain('MODE_FORBIDS')
  await run(running, 'mode', 'NORMAL', '--why', 'over')
  expect(await call(running.mcp, 'hostile_echo')).toBe('{}')
})

describe(`${promise('GOV-14')} escalation`, () => {
  it('sets ALERT when an agent keeps trying what it may not do, and only a person resets it', async () => {
    const running = await gateway()
    for (let count = 0; count < 29; count++) await call(running.mcp, 'hostile_die')
    expect(await modeOf(running)).toMatchObject({ mode: 'NORMAL' })
    expect(await call(running.mcp, 'hostile_die')).toContain('CALL_DENIED')
    expect(await modeOf(running)).toMatchObject({
      mode: 'ALERT',
      by: 'automatic',
      why: '30 calls broke the rules within 10 min',
    })
    expect(modeChanges(running.state)).toEqual(['NORMAL ALERT automatic'])
    expect((await run(running, 'mode', 'NORMAL', '--why', 'my own test')).code).toBe(0)
    await call(running.mcp, 'hostile_die')
    expect(await modeOf(running), 'what was forgiven does not count again').toMatchObject({ mode: 'NORMAL' })
  })

  it('is not triggered by a server whose schema cannot be checked in time: its calls are refused, and explained', async () => {
    const inputSchema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } }
    const tools = createChangingTools({ name: 'read_page', inputSchema })
    const escalation = { policy_violations: { count: 2, window: '10m', to: 'ALERT' } }
    const running = await gateway({ config: { governance: { escalation }, mcp_servers: { wiki: tools.entry } } })
    const args = { text: `${'a'.repeat(60)}!` }
    for (let count = 0; count < 4; count++)
      expect(await call(running.mcp, 'wiki_read_page', args)).toContain('ARGUMENTS_UNCHECKED')
    expect(tools.calls()).toEqual([])
    expect(await modeOf(running)).toMatchObject({ mode: 'NORMAL' })
    const denied = running.records().filter(({ type }) => type === 'POLICY_DENIED')
    expect(denied).toHaveLength(4)
    expect(denied[0]).toMatchObject({ error: 'ARGUMENTS_UNCHECKED', decided_by: { step: 'validate' } })
    const { stdout } = await run(running, 'explain', String(denied[0]?.call_id))
    expect(stdout).toMatch(/^Refused: wiki\/read_page .*, by the step validate \(ARGUMENTS_UNCHECKED\), and not sent/)
    expect(stdout).toContain('simpler input schema')
  })

  it('sets DEGRADED when half of the calls fail', async () => {
    const running = await gateway()
    for (let count = 0; count < 25; count++) {
      await call(running.mcp, 'hostile_echo')
      await call(running.mcp, 'hostile_tool_error')
    }
    expect(await modeOf(running)).toMatchObject({ mode: 'DEGRADED', why: '25 of 50 calls failed within 10 min' })
  })
})

describe('the command line', () => {
  it('says which mode was meant, what is missing, and what can follow, each with its exit code', async () => {
    const place = emptyPlace()
    const misspelt = await run(place, 'mode', 'LOKDOWN', '--json')
    expect([misspelt.code, errorOf(misspelt).message]).toEqual([2, expect.stringContaining('Did you mean "LOCKDOWN"?')])
    await run(place, 'panic')
    const skipping = await run(place, 'mode', 'NORMAL', '--why', 'over', '--json')
    expect([skipping.code, errorOf(skipping)]).toMatchObject([
      4,
      { code: 'MODE_REFUSED', hint: expect.stringContaining('RECOVERY') },
    ])
    const withoutReason = await run(place, 'mode', 'RECOVERY', '--json')
    expect([withoutReason.code, errorOf(withoutReason).hint]).toEqual([2, expect.stringContaining('--why')])
  })

  it('shows how many tools the mode allows, and doctor says that it is not NORMAL', async () => {
    const running = await gateway()
    await eventually(
      () => run(running, 'mode'),
      ({ stdout }) => /^tools +[1-9]\d* of [1-9]\d* can be called$/m.test(stdout),
    )
    await run(running, 'mode', 'ALERT', '--why', 'odd calls')
    expect((await run(running, 'doctor')).stdout).toMatch(/! mode +ALERT is in force, set by \S+: odd calls/)
  })
})
