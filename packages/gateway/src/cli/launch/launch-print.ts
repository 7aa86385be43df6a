import { isJsonList, isJsonObject, type Json, type JsonObject, quoteForShell, redactText } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../screen.ts'
import type { LaunchPlan } from './launch-plan.ts'

const MASK = '•••'
/** Where agents keep what servers are given, and what people call things that nobody else should see. */
const SECRET_MAP_KEY = /^(env|envs|environment|headers|http_headers)$/i
const SECRET_KEY = /key|token|secret|password|credential|authorization/i

/** What would be started, for people or programs. Nothing secret is shown. */
export function printLaunchPlan(context: CliContext, flags: GlobalFlags, plan: LaunchPlan): void {
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
  /** Null: taken away. */
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

/** Names stay, so that people see what is there; what they stand for does not. */
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
