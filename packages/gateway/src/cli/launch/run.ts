import {
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  quoteForShell,
  redactText,
  SallyportError,
} from '@sallyport/core'
import { type AgentAdapter, findAdapter, findOverlay } from '../../agents/agents.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createHostContext } from '../host-context.ts'
import { leavesNoTools, readProfilesView } from '../profiles-view.ts'
import { createScreen } from '../terminal/screen.ts'
import { printEntry, readLaunchProfile } from './connect.ts'
import { launch } from './launch.ts'
import { type LaunchPlan, planLaunch } from './launch-plan.ts'
import { nameRunFolder } from './run-folder.ts'
import { createServerFinder } from './server-finder.ts'

export interface RunFlags {
  readonly profile?: string
  readonly tools?: readonly string[]
  readonly native?: boolean
  readonly print?: boolean
  readonly allowOtherServers?: boolean
}

/** Starts an agent, or shows how it would be started. */
export async function run(
  context: CliContext,
  flags: RunFlags & GlobalFlags,
  commandLine: readonly string[],
): Promise<void> {
  const [name = '', ...args] = commandLine
  const { profile: variant = 'default', tools, native, print } = flags
  const adapter = findAdapter(name)
  const found = await findHome(context, flags)
  if (adapter.supportsMcp && findOverlay(adapter.id) === undefined)
    return printEntry(context, flags, { adapter, found, variant })
  const { home, state, content } = found
  const { selection, session } = await readLaunchProfile({ home, state }, { agent: adapter.id, variant })
  const folder = nameRunFolder(state)
  const plan = await planLaunch({
    ...{ adapter, state, args, tools },
    allowOtherServers: flags.allowOtherServers ?? false,
    folder: folder.path,
    host: createHostContext(context),
    native: native
      ? { selections: [selection, tools], openFinder: () => createServerFinder({ home, content }, context.environment) }
      : undefined,
  })
  const { program = adapter.program ?? adapter.id } = plan
  if (print) return printLaunchPlan(context, flags, { ...plan, program })
  if (plan.program === undefined) throw notInstalled(adapter)
  const noToolsWarning = native
    ? []
    : await warnIfNoTools(context, flags, { name: `${adapter.id}.${variant}`, selection })
  for (const note of [...noToolsWarning, ...plan.notes]) context.process.stderr.write(`! ${note}\n`)
  const attended = plan.isAttended && isInTerminal(context)
  const identity = { agent: adapter.id, profile: variant, session, attended, otherServers: plan.otherServers }
  context.process.exitCode = await launch({ context, home, state, plan: { ...plan, program }, run: folder }, identity)
}

interface NamedSelection {
  readonly name: string
  readonly selection: readonly string[] | undefined
}

/** Without any tool the gateway would look broken to the user, so this warns. */
async function warnIfNoTools(context: CliContext, flags: RunFlags & GlobalFlags, { name, selection }: NamedSelection) {
  if (selection === undefined && flags.tools === undefined) return []
  if (!leavesNoTools(await readProfilesView(context, flags), [selection, flags.tools])) return []
  const who = [...(selection ? [`the profile ${name}`] : []), ...(flags.tools ? ['--tools'] : [])].join(' and ')
  return [
    `No tool is left by ${who}: the agent will get no tools from the gateway. \`sallyport tools\` shows all tools.`,
  ]
}

/** Whether a person sees the agent's output and can type to it. */
const isInTerminal = ({ stdin, process: { stdout } }: CliContext): boolean => Boolean(stdin.isTTY && stdout.isTTY)

const notInstalled = ({ title, program }: AgentAdapter): SallyportError =>
  new SallyportError('AGENT_MISSING', `${title} is not installed here: no "${program}" was found in PATH.`, {
    hint: 'Install it, or add its folder to PATH.',
  })

const MASK = '•••'
/** Keys of objects with variables or headers for servers, and keys that suggest a secret. */
const SECRET_MAP_KEY = /^(env|envs|environment|headers|http_headers)$/i
const SECRET_KEY = /key|token|secret|password|credential|authorization/i

/** Prints what would be started, without secrets. */
function printLaunchPlan(context: CliContext, flags: GlobalFlags, plan: LaunchPlan): void {
  const screen = createScreen(context, flags)
  const shown = toPrintablePlan(plan)
  if (screen.json) return screen.printJson(shown)
  const { command, environment, files, links } = shown
  const variables = Object.entries(environment)
  screen.print(`${command.map(quoteForShell).join(' ')}\n`)
  if (variables.length > 0) screen.print('\nEnvironment:\n')
  for (const [name, value] of variables)
    screen.print(value === null ? `  unset ${name}\n` : `  ${name}=${quoteForShell(value)}\n`)
  for (const [path, content] of Object.entries(files)) screen.printUntrusted(`\n${path}:\n${indented(content)}\n`)
  if (links.length > 0) screen.print('\nLinked, so that the rest stays as it is:\n')
  for (const { from, to, except } of links) screen.printUntrusted(`  ${to} → ${from} (without ${except.join(', ')})\n`)
  for (const note of plan.notes) screen.printMessage(`! ${note}`)
}

interface PrintablePlan {
  readonly command: readonly string[]
  /** `null`: the variable is removed. */
  readonly environment: Readonly<Record<string, string | null>>
  readonly files: Readonly<Record<string, Json>>
  readonly links: readonly { readonly from: string; readonly to: string; readonly except: readonly string[] }[]
  readonly notes: readonly string[]
}

function toPrintablePlan({ program, args, environment, files, mirrors, notes }: LaunchPlan): PrintablePlan {
  return {
    command: [program, ...args].map(redactText),
    environment: Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value ?? null])),
    files: Object.fromEntries(Object.entries(files).map(([path, content]) => [path, maskValue(content)])),
    links: mirrors.map(({ source, path, except }) => ({ from: source, to: path, except })),
    notes,
  }
}

const indented = (content: Json): string =>
  JSON.stringify(content, undefined, 2)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')

/** Keeps names, so that people see what is there, and masks secret values. */
function maskValue(value: Json): Json {
  if (typeof value === 'string') return redactText(value)
  if (isJsonList(value)) return value.map(maskValue)
  return isJsonObject(value) ? maskObject(value) : value
}

function maskObject(object: JsonObject): JsonObject {
  const members = Object.entries(object).map(([key, value]): [string, Json] => {
    if (value === undefined) return [key, null]
    if (SECRET_MAP_KEY.test(key)) return [key, hideValues(value)]
    return [key, typeof value === 'string' && SECRET_KEY.test(key) ? MASK : maskValue(value)]
  })
  return Object.fromEntries(members)
}

function hideValues(value: Json): Json {
  if (isJsonList(value)) return value.map(hideValues)
  if (!isJsonObject(value)) return MASK
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, hideValues(member ?? null)]))
}
