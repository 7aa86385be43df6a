import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'

const SERVERS = join(REPOSITORY, 'packages/gateway/demo/servers')

/** A gateway in front of the notes of the demonstration, whose tools have their entries. */
export async function runNotesGateway(settings: object = {}): Promise<RunningGateway> {
  const place = makePlace({
    governance: { approval_timeout: '1s' },
    mcp_servers: { notes: { command: 'node', args: ['notes.mjs'], cwd: SERVERS } },
    ...settings,
  })
  const running = await runGateway({ place })
  onTestFinished(() => running.stop())
  await eventually(() => running.records().some(({ type }) => type === 'TOOLS_WRITTEN'), Boolean)
  return running
}
