import type { CliContext } from '../cli-context.ts'
import type { SandboxedServerView } from '../gateway/gateway-client.ts'
import { waitForServers } from '../gateway/wait-for-servers.ts'
import { withGateway } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { formatTimeAgo } from '../terminal/format-time-ago.ts'
import { createScreen } from '../terminal/screen.ts'
import type { Column } from '../terminal/table.ts'

/** Shows each process in a sandbox, and why other servers have none. */
export async function listSandboxes(context: CliContext, flags: GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const list = await withGateway(context, flags, async (client, age) => {
    if (age === 'fresh') await waitForServers(client, context.signal)
    return client.sandboxes(context.signal)
  })
  if (screen.json) return screen.printJson(list)
  if (list.servers.length === 0) return screen.printMessage('There is no server yet.')
  screen.printTable(columns(context.now()), list.servers.flatMap(toRows))
}

interface Row {
  readonly server: string
  readonly process?: SandboxedServerView['processes'][number]
  /** What it reaches now, or why it is not in a sandbox. */
  readonly text: string
}

function toRows({ server, processes, reason = '' }: SandboxedServerView): readonly Row[] {
  if (processes.length === 0) return [{ server, text: reason }]
  return processes.map((process) => ({ server, process, text: process.reaches.join(', ') || 'nothing' }))
}

const columns = (now: Date): readonly Column<Row>[] => [
  { title: 'SERVER', value: ({ server }) => server },
  { title: 'SANDBOX', value: ({ process }) => process?.driver ?? 'none' },
  { title: 'MODE', value: ({ process }) => process?.mode },
  { title: 'SESSION', value: ({ process }) => process && (process.session ?? '(none)'), flexible: true },
  { title: 'SINCE', value: ({ process }) => process && formatTimeAgo(new Date(process.since), now) },
  { title: 'REACHES NOW', value: ({ text }) => text, flexible: true },
]
