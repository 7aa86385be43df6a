import { setTimeout as delay } from 'node:timers/promises'
import { type ConfigPreview, type ServerChange, ServersEditor } from '../../../config/config.ts'
import type { CliContext } from '../../cli-context.ts'
import { findHome } from '../../find-home.ts'
import type { GatewayClient, ServerView } from '../../gateway/gateway-client.ts'
import { findRunningGateway } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { createScreen, type Screen } from '../../terminal/screen.ts'
import { type Style, visibleLine, visibleLines } from '../../terminal/terminal-text.ts'
import { formatServerLine } from './server-line.ts'

export interface ChangeFlags {
  readonly dryRun?: boolean
}

export const CHANGE_FLAGS = {
  dryRun: { kind: 'boolean', optional: true, withNegated: false, brief: 'Show the change, and write nothing' },
} as const

export const SERVER_NAME = {
  kind: 'tuple',
  parameters: [{ brief: 'Its name in config.yaml', placeholder: 'name', parse: String }],
} as const

/** The changes that a command can make. */
type Change = Extract<ServerChange, { kind: 'add' | 'remove' | 'enable' }>

interface ServerChanging {
  readonly flags: ChangeFlags & GlobalFlags
  readonly change: Change
  /** Completed by the path of the file. */
  readonly done: string
}

/** A server that is not ready after this is still starting, or waits for its next attempt. */
const START_TIMEOUT_MS = 30_000
const PAUSE_MS = 100

/**
 * Shows a change of config.yaml and writes it: through the running gateway, which records who did it and knows the
 * variables, or directly if none runs.
 */
export async function changeServer(context: CliContext, { flags, change, done }: ServerChanging): Promise<void> {
  const screen = createScreen(context, flags)
  const { home, state } = await findHome(context, flags)
  const gateway = await findRunningGateway(state, home.path)
  const editor = gateway
    ? throughGateway(gateway)
    : new ServersEditor({ home, state, environment: context.environment })
  const preview = await editor.preview([change])
  const isWritten = !flags.dryRun && preview.diff.length > 0
  if (!screen.json) printPreview(screen, preview)
  if (isWritten) await editor.apply([change], preview.hash)
  const awaited = toAwaited(change)
  const server = isWritten && gateway && awaited && (await waitForServer(gateway, awaited, context.signal))
  if (screen.json) return screen.printJson({ ...preview, written: isWritten, ...(server && { server }) })
  screen.printMessage(describeOutcome({ preview, isWritten, done }))
  if (server) screen.printMessage(formatServerLine(server))
  else if (isWritten && gateway === undefined) screen.printMessage('No gateway runs here; the next one uses it.')
}

type Preview = Pick<ConfigPreview, 'path' | 'hash' | 'warnings'> & {
  readonly diff: readonly Pick<ConfigPreview['diff'][number], 'mark' | 'text'>[]
}

interface Editor {
  preview(changes: readonly ServerChange[]): Promise<Preview>
  apply(changes: readonly ServerChange[], hash: string): Promise<unknown>
}

const throughGateway = (gateway: GatewayClient): Editor => ({
  preview: (changes) => gateway.previewServers(changes),
  apply: (changes, hash) => gateway.applyServers(changes, hash),
})

const paintOf = (mark: string, { green, red, dim }: Style): ((text: string) => string) =>
  mark === '+' ? green : mark === '-' ? red : dim

function printPreview({ print, printMessage, style }: Screen, { path, diff, warnings }: Preview): void {
  if (diff.length > 0) print(`${style.bold(visibleLine(path))}\n`)
  for (const { mark, text } of diff) print(`${paintOf(mark, style)(`${mark} ${visibleLines(text)}`)}\n`)
  for (const warning of warnings) printMessage(`! ${visibleLine(warning)}`)
}

interface Outcome {
  readonly preview: Preview
  readonly isWritten: boolean
  readonly done: string
}

function describeOutcome({ preview: { diff, path }, isWritten, done }: Outcome): string {
  if (diff.length === 0) return `${visibleLine(path)} says so already; nothing was changed.`
  return isWritten ? `${done} ${visibleLine(path)}.` : `${visibleLine(path)} is unchanged.`
}

interface AwaitedServer {
  readonly id: string
  /** Otherwise it is awaited that it is disabled. */
  readonly wantsRunning: boolean
}

function toAwaited(change: Change): AwaitedServer | undefined {
  if (change.kind === 'remove') return undefined
  return { id: change.id, wantsRunning: change.kind === 'add' ? change.entry.enabled !== false : change.enabled }
}

/** The server once the gateway has read the change, and the server is ready, or says why not. */
export async function waitForServer(
  gateway: GatewayClient,
  { id, wantsRunning }: AwaitedServer,
  signal: AbortSignal,
): Promise<ServerView | undefined> {
  for (const until = performance.now() + START_TIMEOUT_MS; ; await delay(PAUSE_MS, undefined, { signal })) {
    const server = (await gateway.servers(signal)).find((one) => one.id === id)
    if (server && isSettled(server, wantsRunning)) return server
    if (performance.now() > until) return server
  }
}

function isSettled({ state, reason }: ServerView, wantsRunning: boolean): boolean {
  if (!wantsRunning || state === 'disabled') return !wantsRunning && state === 'disabled'
  // One that was idle says so.
  return state !== 'starting' && (state !== 'stopped' || reason !== undefined)
}
