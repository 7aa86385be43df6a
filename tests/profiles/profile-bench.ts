import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness/processes.ts'
import {
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  replaceFile,
  runGateway,
} from '../harness/run-gateway.ts'

/** Variants by agent, as profiles.json has them. */
export type Executors = Readonly<Record<string, Readonly<Record<string, object>>>>

export function writeProfiles({ home }: Pick<Place, 'home'>, executors: Executors): void {
  replaceFile(join(home, 'profiles.json'), JSON.stringify({ executors }, undefined, 2))
}

/** A server with these tools, each of which takes anything; its file goes with the home. */
function serverWith({ home }: Place, name: string, tools: readonly string[]): object {
  const file = join(home, `${name}.tools`)
  writeFileSync(file, JSON.stringify(tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' } }))))
  return { command: process.execPath, args: [join(REPOSITORY, 'tests/fixtures/changing-server.mjs'), file] }
}

/** Two servers with tools alone, and one with a prompt, resources and instructions besides. */
export async function runProfiles(executors: Executors): Promise<RunningGateway> {
  const place = makePlace()
  place.writeConfig({
    // Where nothing is cut, the reader of results comes with no tool.
    context: { cap: 'off' },
    mcp_servers: {
      files: serverWith(place, 'files', ['read', 'write', 'delete_all']),
      docs: serverWith(place, 'docs', ['search', 'delete_page']),
      notes: { command: process.execPath, args: [join(REPOSITORY, 'packages/gateway/demo/servers/notes.mjs')] },
    },
  })
  writeProfiles(place, executors)
  const gateway = await runGateway({ place, args: [] })
  // A server that becomes ready later would notify clients of changed lists.
  await eventually(
    async () => (await askApi(gateway, '/api/servers')).body.servers,
    (servers) => servers.every(({ state }: { state: string }) => state === 'ready'),
  )
  return gateway
}

export interface TokenRequest {
  readonly agent?: string
  readonly profile?: string
  readonly session?: string
  readonly tools?: readonly string[]
}

/** A token as a launch gets one, ready to be sent. */
export async function mintBearer(gateway: RunningGateway, request: TokenRequest): Promise<Record<string, string>> {
  const { body } = await askApi(gateway, '/api/tokens', { method: 'POST', body: JSON.stringify(request) })
  return { authorization: `Bearer ${body.token}` }
}

export interface ApiAnswer {
  readonly status: number
  readonly etag: string
  readonly body: Record<string, any>
}

/** Asks the API as the operator. */
export async function askApi(gateway: RunningGateway, path: string, init: RequestInit = {}): Promise<ApiAnswer> {
  const headers = {
    authorization: `Bearer ${gateway.token('operator')}`,
    'content-type': 'application/json',
    ...(init.headers as Record<string, string>),
  }
  const response = await fetch(`${gateway.url}${path}`, { ...init, headers })
  return { status: response.status, etag: response.headers.get('etag') ?? '', body: (await response.json()) as never }
}
