import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { HttpSession } from '../harness/asked-client.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'
import { refusalOf } from './approvals-bench.ts'
import { type Caller, DRIFTED, READ, STALL, WaitingBench, type WaitingOptions } from './waiting-bench.ts'

type Json = Record<string, any>

const ALL = ['unchanged', 'rule', 'redact', 'lockdown', 'token', 'drift', 'withdrawn', 'private'] as const
type Change = (typeof ALL)[number]

interface Changing {
  readonly says: string
  /** What the call is refused with. */
  readonly code: string | undefined
  make(cell: Cell): unknown
}

/** What may change while a call waits. Each has a server of this id to itself. */
const CHANGES: Readonly<Record<Change, Changing>> = {
  unchanged: { says: 'nothing changes', code: undefined, make: () => undefined },
  rule: {
    says: 'a rule in tools.yaml forbids it',
    code: 'MODE_FORBIDS',
    make: ({ bench, server }) => bench.rule([server], 'allowed_in_modes: []'),
  },
  redact: {
    says: '`secrets: redact` is added',
    code: 'CALL_DENIED',
    make: ({ bench, server }) => bench.rule([server], 'secrets: redact'),
  },
  lockdown: {
    says: `there is a lockdown (${promise('GOV-13')})`,
    code: 'MODE_FORBIDS',
    make: ({ bench }) => bench.modes('LOCKDOWN'),
  },
  token: {
    says: `its token is revoked (${promise('GOV-22')})`,
    code: 'UNAUTHENTICATED',
    make: ({ bench, caller }) => bench.api(`/api/tokens/${caller.id}`, { method: 'DELETE' }),
  },
  drift: {
    says: `its server changes the tool (${promise('GOV-9')})`,
    code: 'DEFINITION_CHANGED',
    make: ({ bench, server, isListHeld }) => {
      const offer = (): void => bench.tools(server).offer(DRIFTED, STALL)
      return isListHeld ? offer() : bench.oneMore('TOOLS_DISCOVERED', offer)
    },
  },
  withdrawn: {
    says: `its approval for the session is withdrawn (${promise('GOV-21')})`,
    code: 'APPROVAL_REQUIRED',
    make: ({ bench }) => bench.modes('LOCKDOWN', 'RECOVERY', 'NORMAL'),
  },
  private: {
    says: `its session becomes private (${promise('SEN-5')})`,
    code: 'PRIVATE_SESSION',
    make: ({ bench }) =>
      bench.oneMore('SENSITIVITY_RAISED', () =>
        bench.api('/api/sessions/raise', {
          method: 'POST',
          body: { session: 'work on private', sensitivity: 'CONFIDENTIAL', why: 'a test' },
        }),
      ),
  },
}

interface Cell {
  readonly bench: WaitingBench
  readonly server: Change
  readonly caller: Caller
  readonly isListHeld: boolean
}

interface Waiting {
  readonly answer: Promise<Json>
  release(): unknown
}

interface Wait {
  readonly options?: Partial<WaitingOptions>
  /** The server lists what it offers only when it is released. */
  readonly isListHeld?: boolean
  /** A call that waits, and what ends that. */
  begin(cell: Cell, client: LegacyClient): Promise<Waiting>
  /** The cells that make no sense, with the reason. */
  readonly without: Partial<Record<Change, string>>
  /** If the code differs from the usual one. */
  readonly codes?: Partial<Record<Change, string>>
  /** Servers that the test runs itself. */
  readonly serve?: () => Promise<Served>
}

interface Served {
  readonly urls: Readonly<Record<string, string>>
  /** How many calls of this kind reached the server. */
  calls(server: string): number
  close(): Promise<unknown>
}

const NOT_YET_APPROVED = 'a server that starts has answered no call that somebody approved for the session'
const NO_LIST_CHANGES = 'this server tells of no changed lists; what it would begin is what a rule begins'
const ARGUMENTS = { text: 'x' }

const call = (client: LegacyClient, { server }: Cell): Promise<Json> => client.call(`${server}_read_page`, ARGUMENTS)

/** Recorded as started: from then on it waits for nothing but its way to the server. */
async function startCall(cell: Cell, client: LegacyClient, release: () => unknown): Promise<Waiting> {
  let answer: Promise<Json> = Promise.resolve({})
  await cell.bench.oneMore('TOOL_CALL_STARTED', () => {
    answer = call(client, cell)
  })
  return { answer, release }
}

async function serveHttp(
  make: (server: Change) => Parameters<typeof openModernUpstream>[0],
  isCounted: (message: Json) => boolean,
): Promise<Served> {
  const servers = new Map(
    await Promise.all(ALL.map(async (id) => [id as string, await openModernUpstream(make(id))] as const)),
  )
  return {
    urls: Object.fromEntries([...servers].map(([id, { url }]) => [id, url])),
    calls: (id) =>
      servers
        .get(id)
        ?.of('tools/call')
        .filter(({ message }) => isCounted(message)).length ?? 0,
    close: () => Promise.all([...servers.values()].map((server) => server.close())),
  }
}

const TOOLS = [READ, STALL].map((tool) => ({ ...tool, inputSchema: { type: 'object' } }))

/** As many as there may be to one server. */
const CONNECTIONS = 128
const stalls = new Map<Change, { readonly received: () => number; release(): void }>()

function stalling(server: Change) {
  let received = 0
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  stalls.set(server, { received: () => received, release })
  const hold = ({ params }: Json): Promise<void> | undefined => {
    if (params?.name !== STALL.name) return undefined
    received++
    return released
  }
  return { tools: TOOLS, hold }
}

const QUESTION = {
  method: 'elicitation/create',
  params: { message: 'Which page?', requestedSchema: { type: 'object', properties: { page: { type: 'string' } } } },
}

const asking = () => ({
  tools: TOOLS,
  results: {
    read_page: ({ inputResponses }: Json) =>
      inputResponses ? {} : { resultType: 'input_required', requestState: 's', inputRequests: { page: QUESTION } },
  },
})

const WAITS: Readonly<Record<string, Wait>> = {
  'its server to start': {
    options: { isHeldAtStart: true },
    isListHeld: true,
    without: { withdrawn: NOT_YET_APPROVED },
    begin: (cell, client) => startCall(cell, client, () => cell.bench.release(cell.server)),
  },
  'the process of its session to start': {
    options: { entry: { per: 'session' } },
    isListHeld: true,
    without: { withdrawn: NOT_YET_APPROVED },
    begin: (cell, client) => startCall(cell, client, cell.bench.tools(cell.server).hold()),
  },
  'the level of log messages to be set': {
    options: { args: ['logs'] },
    without: {},
    begin: async (cell, client) => {
      await client.request('logging/setLevel', { level: 'debug' })
      return startCall(cell, client, cell.bench.tools(cell.server).hold('level'))
    },
  },
  'a server that does not read its full stdin': {
    without: { drift: 'a server that does not read cannot tell what it offers now' },
    begin: async (cell, client) => {
      const { bench, server } = cell
      const release = bench.tools(server).stop()
      const other = await LegacyClient.open(bench.gateway.mcp)
      await bench.oneMore(
        'TOOL_CALL_STARTED',
        () => void other.call(`${server}_read_stall`, { text: 'x'.repeat(1_000_000) }),
      )
      return startCall(cell, client, release)
    },
  },
  'one of the connections to its server': {
    serve: () => serveHttp(stalling, ({ params }) => params.name === 'read_page'),
    without: { drift: NO_LIST_CHANGES },
    begin: async (cell, client) => {
      const { bench, server } = cell
      const other = await LegacyClient.open(bench.gateway.mcp)
      for (let count = 0; count < CONNECTIONS; count++) void other.call(`${server}_read_stall`)
      const stalled = stalls.get(server)
      await eventually(
        () => stalled?.received(),
        (received) => received === CONNECTIONS,
      )
      return startCall(cell, client, () => stalled?.release())
    },
  },
  'its client to answer a question of the server': {
    serve: () => serveHttp(asking, ({ params }) => params.inputResponses !== undefined),
    codes: { private: 'CLIENT_REFUSED' },
    without: {
      drift: NO_LIST_CHANGES,
      token: 'a client whose token was revoked cannot answer any more',
      withdrawn: 'the form by which the person approves would come in between',
    },
    begin: async ({ bench, server, caller }) => {
      const session = await HttpSession.open(bench.gateway.mcp, { elicitation: {} }, caller.bearer)
      const asked = session.call({ name: `${server}_read_page`, arguments: ARGUMENTS })
      const { id } = await asked.question()
      const release = () => session.answer(id, { result: { action: 'accept', content: { page: 'one' } } })
      return { answer: asked.reply(), release }
    },
  },
  approval: {
    options: { approved: ALL },
    codes: { token: 'APPROVAL_EXPIRED' },
    without: {
      redact: 'what is approved is written after that, as the rules want it then',
      withdrawn: 'it has none yet; that nobody answers in time is tested with the approvals',
    },
    begin: async (cell, client) => {
      const { bench, server } = cell
      const answer = call(client, cell)
      const id = await bench.pending(server)
      return { answer, release: () => bench.api(`/api/approvals/${id}`, { method: 'POST', body: { answer: 'once' } }) }
    },
  },
}

describe.each(Object.entries(WAITS))(
  'a call that waits for %s',
  (_wait, { options, isListHeld = false, begin, without, codes, serve }) => {
    let bench: WaitingBench
    let served: Served | undefined

    beforeAll(async () => {
      served = await serve?.()
      const approved = without.withdrawn === undefined ? (['withdrawn'] as const) : []
      const servers = served ? { servers: [], urls: served.urls } : { servers: ALL }
      bench = await WaitingBench.open({ approved, ...servers, ...options })
    })

    afterAll(async () => {
      await bench?.close()
      await served?.close()
    })

    const reached = (server: Change): number =>
      served?.calls(server) ??
      bench
        .tools(server)
        .calls()
        .filter((name) => name === READ.name).length

    /** Approves what a first call asks, for the whole session. */
    async function approveSession(cell: Cell, client: LegacyClient): Promise<void> {
      const first = call(client, cell)
      const id = await bench.pending(cell.server)
      await bench.api(`/api/approvals/${id}`, { method: 'POST', body: { answer: 'session' } })
      expect(refusalOf(await first)).toBeUndefined()
    }

    const cells = ALL.filter((change) => without[change] === undefined).map((change) => ({
      change,
      ...CHANGES[change],
    }))

    it.each(cells)('$says: $code', async ({ change, code: usual, make }) => {
      if (change === 'lockdown') onTestFinished(() => bench.modes('RECOVERY', 'NORMAL'))
      const caller = await bench.mint(`work on ${change}`)
      const cell: Cell = { bench, server: change, caller, isListHeld }
      const client = await LegacyClient.open(bench.gateway.mcp, caller.bearer)
      if (change === 'withdrawn') await approveSession(cell, client)
      const before = reached(change)
      const { answer, release } = await begin(cell, client)
      await make(cell)
      await release()
      const code = codes?.[change] ?? usual
      expect(refusalOf(await answer)).toBe(code)
      expect(reached(change) - before).toBe(code === undefined ? 1 : 0)
    })
  },
)
