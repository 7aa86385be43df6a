import { afterEach, describe, expect, it } from 'vitest'
import { ALL, type AskedClient, HttpSession, ModernHttp } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { endProcess, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import {
  type AskingBench,
  accepted,
  elicitation,
  openAskingBench,
  outcomeOf,
  runOf,
} from '../questions/asking-bench.ts'

const FORM = { elicitation: {} }

describe(`${promise('GW-5')} ${promise('GW-17')} ${promise('GW-20')} many clients that are asked at the same time`, () => {
  let bench: AskingBench

  afterEach(() => bench.close())

  /** Everybody is asked before anybody answers: whoever got another's question would answer it wrongly. */
  async function askAll(clients: readonly AskedClient[], steps: (name: string) => readonly Message[]) {
    let waiting = clients.length
    let open = (): void => {}
    const allAsked = new Promise<void>((resolve) => {
      open = resolve
    })
    const conversations = clients.map(async (client, index) => {
      const name = `client ${index}`
      const seen = await client.converse(runOf('asking', ...steps(name)), async ({ params }) => {
        if (--waiting === 0) open()
        await allAsked
        return accepted(`${name} to ${params.message}`)
      })
      expect(
        seen.questions.map(({ params }) => params.message),
        JSON.stringify(seen.answer),
      ).toEqual([name])
      const { answers, pid } = outcomeOf(seen)
      expect(answers).toEqual([accepted(`${name} to ${name}`)])
      return pid
    })
    return Promise.all(conversations)
  }

  const sessions = (count: number, capabilities: object = FORM): Promise<HttpSession[]> =>
    Promise.all(Array.from({ length: count }, () => HttpSession.open(bench.gateway.mcp, capabilities)))
  const moderns = (count: number): ModernHttp[] =>
    Array.from({ length: count }, () => new ModernHttp(bench.gateway.mcp, { capabilities: FORM }))
  const processes = (): readonly number[] => {
    const { pid } = bench.gateway.child
    return processesWith(`${bench.gateway.home}/asking.heard`).filter((one) => one !== pid)
  }
  /** It has asked before: from then on nobody shares a pipe. */
  async function makeKnown(): Promise<void> {
    const [first] = await sessions(1)
    await first?.converse(runOf('asking', { ask: [elicitation('first')] }), () => accepted('first'))
    await first?.end()
  }

  it('each get their own question from one shared HTTP server', async () => {
    bench = await openAskingBench({ asking: { http: true } })
    const clients = [...(await sessions(15)), ...moderns(15)]
    await askAll(clients, (name) => [{ gate: 30 }, { ask: [elicitation(name)] }])
    await askAll(clients, (name) => [{ gate: 30 }, { ask: [elicitation(name)] }])
    const opened = bench.receivedBy('asking').filter(({ message }) => message.method === 'initialize')
    // One to learn what it has, and one for all who declare the same.
    expect(opened).toHaveLength(2)
  })

  it('have a process each once a stdio server has asked, as long as their conversation lasts', async () => {
    bench = await openAskingBench({ asking: {} })
    await makeKnown()
    await eventually(processes, ({ length }) => length === 1)
    const clients = await sessions(10)
    const pids = await askAll(clients, (name) => [{ ask: [elicitation(name)] }])
    expect(new Set(pids).size).toBe(10)
    expect(await askAll(clients, (name) => [{ ask: [elicitation(name)] }])).toEqual(pids)
    expect(processes()).toHaveLength(11)
    await Promise.all(clients.map((client) => client.end()))
    await eventually(processes, ({ length }) => length === 1)
  })

  it('have a process for each call if they have no conversation', async () => {
    bench = await openAskingBench({ asking: {} })
    await makeKnown()
    const clients = moderns(8)
    const pids = await askAll(clients, (name) => [{ ask: [elicitation(name)] }])
    expect(new Set(pids).size).toBe(8)
    const again = await askAll(clients, (name) => [{ ask: [elicitation(name)] }])
    expect([...again].sort()).toEqual([...pids].sort())
  })

  it('are not asked if the client is ambiguous, which happens only once', async () => {
    bench = await openAskingBench({ asking: {} })
    const [one, other] = await sessions(2)
    const steps = [{ gate: 2 }, { ask: [elicitation('whose?')] }]
    const both = [one, other].map((client) => client?.converse(runOf('asking', ...steps), () => accepted('nobody')))
    for (const seen of await Promise.all(both)) {
      expect(seen?.questions).toEqual([])
      expect(outcomeOf(seen as never).answers).toMatchObject([{ error: { code: -32601 } }])
    }
    await askAll([one as HttpSession, other as HttpSession], (name) => [{ ask: [elicitation(name)] }])
  })

  it('share one connection if they cannot be asked', async () => {
    bench = await openAskingBench({ asking: {} })
    await makeKnown()
    const clients = await sessions(5, {})
    const seen = await Promise.all(clients.map((client) => client.converse(runOf('asking'), () => accepted('?'))))
    expect(new Set(seen.map((one) => outcomeOf(one).pid)).size).toBe(1)
    expect(outcomeOf(seen[0] as never).capabilities).toEqual({})
  })

  it('are separated from the first call on after a restart of the gateway', async () => {
    bench = await openAskingBench({ asking: {} })
    await makeKnown()
    await endProcess(bench.gateway.child)
    const gateway = await runGateway({ place: bench.gateway })
    try {
      const clients = await Promise.all(['a', 'b'].map(() => HttpSession.open(gateway.mcp, ALL)))
      const pids = await askAll(clients, (name) => [{ ask: [elicitation(name)] }])
      expect(new Set(pids).size).toBe(2)
    } finally {
      await endProcess(gateway.child)
    }
  })
})
