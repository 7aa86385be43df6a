import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness/processes.ts'
import {
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  type RunOptions,
  runGateway,
} from '../harness/run-gateway.ts'

type Json = Record<string, any>

const COUNTING_SERVER = join(REPOSITORY, 'tests/fixtures/counting-server.mjs')

const TRUSTED = { client_approval: true }

/** Whose client may approve: everybody who comes without a token of their own, and one other. */
export const TRUSTED_CLIENTS = { executors: { ANY: { DEFAULT: TRUSTED }, CODEX: { DEFAULT: {}, REVIEWER: TRUSTED } } }

export interface ApprovalsBench {
  readonly gateway: RunningGateway
  /** The ids of all calls that reached the server, in order: what it wrote down itself. */
  made(): readonly string[]
  api(path: string, options?: { readonly method?: string; readonly body?: Json }): Promise<Json>
  /** The requests that wait, once there are so many. */
  waiting(count?: number): Promise<readonly Json[]>
  answer(id: string, body: Json): Promise<Json>
  /** The records of these types, once there are so many. */
  recorded(type: string, count?: number): Promise<readonly Json[]>
  close(): Promise<void>
}

export interface BenchOptions extends Omit<RunOptions, 'config'> {
  readonly governance?: Json
  readonly profiles?: Json
}

const countedIn = (place: Pick<Place, 'home'>): string => join(place.home, 'counted')

/** A gateway before a server whose tool `delete_it` needs approval, and whose tools `list_it` and `count` do not. */
export async function openApprovals({ governance, profiles, ...options }: BenchOptions = {}): Promise<ApprovalsBench> {
  const place = options.place ?? makePlace()
  const args = [COUNTING_SERVER, countedIn(place), 'delete_it', 'list_it', 'count']
  place.writeConfig({
    mcp_servers: { counter: { command: process.execPath, args } },
    governance: { enforce: true, ...governance },
  })
  if (profiles) writeFileSync(join(place.home, 'profiles.json'), JSON.stringify(profiles))
  const gateway = await runGateway({ ...options, place })
  const bench = benchOf(gateway)
  await eventually(
    () => bench.api('/api/servers/counter'),
    ({ state }) => state === 'ready',
  )
  await bench.recorded('TOOLS_WRITTEN')
  return bench
}

function benchOf(gateway: RunningGateway): ApprovalsBench {
  const api: ApprovalsBench['api'] = async (path, { method = 'GET', body } = {}) => {
    const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    return (await (await fetch(`${gateway.url}${path}`, sent)).json()) as Json
  }
  return {
    gateway,
    api,
    made: () => {
      const file = countedIn(gateway)
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
    },
    waiting: (count = 1) =>
      eventually(
        async () => (await api('/api/approvals')).approvals as readonly Json[],
        ({ length }) => length === count,
      ),
    answer: (id, body) => api(`/api/approvals/${id}`, { method: 'POST', body }),
    recorded: (wanted, count = 1) =>
      eventually(
        () => gateway.records().filter(({ type }) => type === wanted),
        ({ length }) => length >= count,
      ),
    close: () => gateway.stop(),
  }
}

/** The code of a call's refusal, in whichever shape it came. */
export function refusalOf(answer: Json): unknown {
  const result = answer.result ?? answer
  return result._meta?.['sallyport/error']?.code ?? answer.error?.data?.code ?? answer.error?.code
}
