import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { roundsOf } from '../harness/rounds.ts'
import { runCommand } from '../harness/run-command.ts'
import { MAIN, makePlace, type Place, REPOSITORY, readRecords } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const ROUNDS = roundsOf({ few: 60, many: 60, all: 200 })
/** Each lane has a state of its own, which all its rounds share: one lane starts while the other is killed. */
const LANES = 2
const CALLERS = 6
const MAX_ANSWERS = 12
const COUNTING = join(REPOSITORY, 'tests/fixtures/counting-server.mjs')

interface Lane {
  readonly place: Place
  readonly executedFile: string
  /** The ids of all calls that got a result. */
  readonly answered: string[]
  asked: number
  killedEarly: number
}

const lanes: Lane[] = []

afterAll(() => {
  for (const { place } of lanes) place.remove()
})

function openLane(): Lane {
  const place = makePlace()
  const executedFile = join(place.home, 'executed')
  const counter = { command: 'node', args: [COUNTING, executedFile] }
  place.writeConfig({ mcp_servers: { counter } })
  const lane = { place, executedFile, answered: [], asked: 0, killedEarly: 0 }
  lanes.push(lane)
  return lane
}

function startGateway({ home, state }: Place): ChildProcess {
  const args = [MAIN, 'serve', '--home', home, '--state', state, '--port', '0', '--no-auth', '--json']
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Calls one after another until the gateway is gone. The id travels twice: as the trace, and to the server. */
async function keepCalling(mcp: string, lane: Lane, onAnswer: () => void): Promise<void> {
  for (;;) {
    const id = randomBytes(16).toString('hex')
    const _meta = { traceparent: `00-${id}-${randomBytes(8).toString('hex')}-01` }
    lane.asked++
    try {
      const { message } = await modernRequest(mcp, 'tools/call', { name: 'counter_count', arguments: { id }, _meta })
      if (message.result?.isError !== true && message.result?.content[0].text === id) lane.answered.push(id)
    } catch {
      return
    }
    onAnswer()
  }
}

async function killUnderCalls(lane: Lane): Promise<void> {
  const child = startGateway(lane.place)
  // Some die while they start: that is when files are made and leftovers swept.
  if (randomInt(5) === 0) {
    await delay(randomInt(300))
    lane.killedEarly++
    return kill(child)
  }
  const [banner] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  const { url } = JSON.parse(String(banner)) as { url: string }
  let left = randomInt(MAX_ANSWERS)
  const enough = new Promise<void>((resolve) => {
    const count = (): void => void (left-- <= 0 && resolve())
    void Promise.all(Array.from({ length: CALLERS }, () => keepCalling(url, lane, count)))
  })
  await enough
  await delay(randomInt(4))
  await kill(child)
}

const executedIn = ({ executedFile }: Lane): readonly string[] =>
  existsSync(executedFile) ? readFileSync(executedFile, 'utf8').split('\n').filter(Boolean) : []

/** Every finished line parses, or this throws; every number comes once and in order. */
function wholeRecords({ place }: Lane): readonly Record<string, unknown>[] {
  const records = readRecords(place.state)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
  return records
}

function tracesOf(records: readonly Record<string, unknown>[], type: string): ReadonlySet<unknown> {
  return new Set(records.filter((record) => record.type === type).map(({ trace_id }) => trace_id))
}

function checkLane(lane: Lane): readonly Record<string, unknown>[] {
  const records = wholeRecords(lane)
  const started = tracesOf(records, 'TOOL_CALL_STARTED')
  const completed = tracesOf(records, 'TOOL_CALL_COMPLETED')
  expect(
    executedIn(lane).filter((id) => !started.has(id)),
    'executed without a STARTED record',
  ).toEqual([])
  expect(
    lane.answered.filter((id) => !completed.has(id)),
    'answered without a COMPLETED record',
  ).toEqual([])
  return records
}

async function runLane(rounds: number): Promise<Lane> {
  const lane = openLane()
  for (let round = 0; round < rounds; round++) {
    await killUnderCalls(lane)
    if (existsSync(join(lane.place.state, 'logs'))) wholeRecords(lane)
  }
  return lane
}

async function auditOf({ place }: Lane): Promise<readonly Record<string, unknown>[]> {
  const { code, stdout, stderr } = await runCommand(['audit', '--json', '--limit', '10000', '--state', place.state])
  expect(code, stderr).toBe(0)
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** After all the kills every record is still chained to the one before it. */
async function verifyChain({ place }: Lane, records: number): Promise<void> {
  const { code, stdout, stderr } = await runCommand(['audit', 'verify', '--json', '--state', place.state])
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, records, problemCount: 0, unfinished: { bytes: 0 } })
}

it(`${promise('GOV-27')} ${promise('GOV-24')} kill -9 in a loop while calls run loses no record of what was executed`, async () => {
  const begun = performance.now()
  await Promise.all(Array.from({ length: LANES }, () => runLane(ROUNDS / LANES)))
  const took = performance.now() - begun
  const totals = { asked: 0, answered: 0, executed: 0, records: 0, killed_while_starting: 0 }
  for (const lane of lanes) {
    await eventually(
      () => processesWith(lane.place.home),
      (pids) => pids.length === 0,
    )
    const records = checkLane(lane)
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(lane.place.state, `state.db${suffix}`), { force: true })
    // Asking opens the log, which may have had to cut off an unfinished line and say so.
    const asked = await auditOf(lane)
    expect(asked.slice(0, records.length)).toEqual(records)
    expect(asked.slice(records.length).filter(({ type }) => type !== 'LOG_REPAIRED')).toEqual([])
    expect(readRecords(lane.place.state)).toEqual(asked)
    await verifyChain(lane, asked.length)
    const names = [lane.place.state, join(lane.place.state, 'logs')].flatMap((folder) => readdirSync(folder))
    const leftovers = names.filter((name) => /tmp|probe|broken/.test(name))
    expect(leftovers, 'left by writers that were killed').toEqual([])
    totals.asked += lane.asked
    totals.answered += lane.answered.length
    totals.executed += executedIn(lane).length
    totals.records += records.length
    totals.killed_while_starting += lane.killedEarly
  }
  expect(totals.executed).toBeGreaterThanOrEqual(totals.answered)
  expect(totals.answered).toBeGreaterThan(ROUNDS)
  console.log(`${ROUNDS} rounds in ${Math.round(took / 100) / 10} s:`, JSON.stringify(totals))
}, 300_000)
