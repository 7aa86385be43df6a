import { request, type Server } from 'node:http'
import { CONNECT, createMcpServer } from '@sallyport/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Gateway } from '../../packages/gateway/src/compose/gateway.ts'
import { serveWitness, Witness } from '../fixtures/witness-server.mjs'
import { roundsOf } from '../harness/rounds.ts'
import { promise } from '../promises.ts'
import { findViolations } from './find-violations.ts'
import { Counts, History } from './history.ts'
import { playRound, readLabels, type World } from './play-round.ts'
import { openRaceGateway, type RaceGateway } from './race-gateway.ts'
import { RACE_CONFIG, RACE_TOOLS } from './race-home.ts'
import { Random, readSeed } from './random.ts'

const ROUNDS = roundsOf({ few: 60, many: 200, all: 10_000 })
/** Rounds that run at the same time. */
const LANES = 16
/** Rounds with one gateway and one history: the more sessions a gateway knows, the longer it takes to list them. */
const ROUNDS_OF_GATEWAY = 250
/** As many as the gateway has for the calls of one server. */
const CONNECTIONS = 128

let history = new History()
let witnesses: OpenWitness[] = []

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
})

afterAll(async () => {
  for (const { server } of witnesses) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** With a state of its own. */
function openGateway(): Promise<RaceGateway> {
  const urlOf = (name: string): unknown => witnesses.find(({ witness }) => witness.name === name)?.url
  const mcp_servers = {
    vault: { url: urlOf('vault'), sensitivity: 'confidential', trusted: true },
    desk: { url: urlOf('desk'), trusted: true },
    sink: { url: urlOf('sink') },
    pair: { url: urlOf('normal'), url_isolated: urlOf('isolated') },
  }
  return openRaceGateway({ config: { ...RACE_CONFIG, mcp_servers }, tools: RACE_TOOLS, addServers: addLocal })
}

function addLocal(to: Gateway): void {
  const local = createMcpServer('local', { toolsOfOthers: true })
  const input = { type: 'object', properties: { mark: { type: 'string' } } } as const
  local.tool('send', { description: 'Sends', permission: CONNECT, input }, ({ mark }) => {
    arrive(String(mark), 'local')
    return `arrived ${mark} at local`
  })
  to.addInProcessServer('local', local)
}

function createWorld({ direct, mcp, api }: RaceGateway): World {
  const outside = witnesses.filter(({ witness }) => ['sink', 'normal'].includes(witness.name))
  let congestions = 0
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

const secondsSince = (begun: number): number => Math.round((performance.now() - begun) / 100) / 10

it(`${promise('SEN-5')} ${promise('SEN-1')} no interleaving lets anything leave a private session, and none is lost`, async () => {
  const seed = readSeed()
  const begun = performance.now()
  const counts = new Counts()
  let next = 0
  while (next < ROUNDS) {
    history = new History()
    const gateway = await openGateway()
    const world = createWorld(gateway)
    const until = Math.min(ROUNDS, next + ROUNDS_OF_GATEWAY)
    const lane = async (): Promise<void> => {
      while (next < until) {
        const round = next++
        const aftermath = await playRound(world, new Random(seed * 100_003 + round), `${seed}-${round}`)
        if (round % 4 === 0) await aftermath.recheck()
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    await readLabels(world)
    await gateway.close()
    expect(findViolations(history), `repeat it with SALLYPORT_SEED=${seed}`).toEqual([])
    counts.add(history)
    console.log(`${next} rounds after ${secondsSince(begun)} s`)
  }
  console.log(`seed ${seed}: ${ROUNDS} rounds in ${secondsSince(begun)} s: ${counts}`)
  // The schedules do what they are for.
  expect(counts.of('arrived')).toBeGreaterThan(ROUNDS)
  expect(counts.of('refused')).toBeGreaterThan(ROUNDS)
  expect(counts.of('raise')).toBeGreaterThan(ROUNDS / 2)
  expect(counts.of('approved')).toBeGreaterThan(0)
}, 3_600_000)
