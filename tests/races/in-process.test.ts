import { request, type Server } from 'node:http'
import { CONNECT, createMcpServer } from '@sallyport/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Gateway } from '../../packages/gateway/src/compose/gateway.ts'
import { serveWitness, Witness } from '../fixtures/witness-server.mjs'
import { roundsOf } from '../harness/rounds.ts'
import { promise } from '../promises.ts'
import { findViolations } from './find-violations.ts'
import { Counts, History } from './history.ts'
import { playRound, type World } from './play-round.ts'
import { openRaceGateway, type RaceGateway } from './race-gateway.ts'
import { RACE_CONFIG, RACE_TOOLS } from './race-home.ts'
import { Random, readSeed } from './random.ts'

const ROUNDS = roundsOf({ few: 60, many: 200, all: 10_000 })
/** Rounds that run at the same time. */
const LANES = 16
/** Rounds that are checked together. */
const ROUNDS_OF_HISTORY = 1_000
/** As many as the gateway has for the calls of one server. */
const CONNECTIONS = 128

let gateway: RaceGateway
let history = new History()
let witnesses: OpenWitness[] = []
let world: World

interface OpenWitness {
  readonly witness: Witness
  readonly server: Server
  readonly url: string
}

const arrive = (mark: string, at: string): void => history.arrive(mark, at)

async function openWitness(name: string): Promise<OpenWitness> {
  const witness = new Witness(name, arrive, { isModern: name !== 'sink' })
  return { witness, ...(await serveWitness(witness)) }
}

beforeAll(async () => {
  witnesses = await Promise.all(['vault', 'desk', 'sink', 'normal', 'isolated'].map(openWitness))
  const urlOf = (name: string): unknown => witnesses.find(({ witness }) => witness.name === name)?.url
  const mcp_servers = {
    vault: { url: urlOf('vault'), sensitivity: 'confidential', trusted: true },
    desk: { url: urlOf('desk'), trusted: true },
    sink: { url: urlOf('sink') },
    pair: { url: urlOf('normal'), url_isolated: urlOf('isolated') },
  }
  gateway = await openRaceGateway({ config: { ...RACE_CONFIG, mcp_servers }, tools: RACE_TOOLS, addServers: addLocal })
  world = createWorld(witnesses.filter(({ witness }) => ['sink', 'normal'].includes(witness.name)))
})

afterAll(async () => {
  await gateway.close()
  for (const { server } of witnesses) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

function addLocal(to: Gateway): void {
  const local = createMcpServer('local', { toolsOfOthers: true })
  const input = { type: 'object', properties: { mark: { type: 'string' } } } as const
  local.tool('send', { description: 'Sends', permission: CONNECT, input }, ({ mark }) => {
    arrive(String(mark), 'local')
    return `arrived ${mark} at local`
  })
  to.addInProcessServer('local', local)
}

function createWorld(outside: readonly OpenWitness[]): World {
  let congestions = 0
  const { direct, mcp, api } = gateway
  return {
    ...{ mcp, direct, api },
    get history() {
      return history
    },
    // What was written to a local socket before is read before a second new connection has its answer.
    settle: async () => {
      for (let turn = 0; turn < 2; turn++) await Promise.all(outside.map(({ url: sink }) => pingAnew(sink)))
    },
    congest: (server) => {
      const id = ++congestions
      for (let call = 0; call < CONNECTIONS; call++)
        void direct({ user: 'filler', session: 'filler', agent: 'any' }, `${server}_hold`, { id })
      return () => {
        for (const { witness } of outside) witness.release(id)
      }
    },
  }
}

/** Over a connection of its own, since the server accepts connections in their order. */
const pingAnew = (url: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false }, (response) => {
      response.resume().on('end', resolve)
    })
    sent.on('error', reject).end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  })

it(`${promise('SEN-5')} ${promise('SEN-1')} no interleaving lets anything leave a private session, and none is lost`, async () => {
  const seed = readSeed()
  const begun = performance.now()
  const counts = new Counts()
  let next = 0
  while (next < ROUNDS) {
    history = new History()
    const until = Math.min(ROUNDS, next + ROUNDS_OF_HISTORY)
    const lane = async (): Promise<void> => {
      while (next < until) {
        const round = next++
        const aftermath = await playRound(world, new Random(seed * 100_003 + round), `${seed}-${round}`)
        if (round % 4 === 0) await aftermath.recheck()
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    expect(findViolations(history), `repeat it with SALLYPORT_SEED=${seed}`).toEqual([])
    counts.add(history)
  }
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  console.log(`seed ${seed}: ${ROUNDS} rounds in ${seconds} s: ${counts}`)
  // The schedules do what they are for.
  expect(counts.of('arrived')).toBeGreaterThan(ROUNDS)
  expect(counts.of('refused')).toBeGreaterThan(ROUNDS)
  expect(counts.of('raise')).toBeGreaterThan(ROUNDS / 2)
  expect(counts.of('approved')).toBeGreaterThan(0)
}, 3_600_000)
