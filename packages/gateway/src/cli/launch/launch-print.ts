import { isJsonList, isJsonObject, type Json, type JsonObject, redactText, shellWord } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../screen.ts'
import type { LaunchPlan } from './launch-plan.ts'

const MASK = '•••'
/** Where agents keep what servers are given, and what people call things that nobody else should see. */
const VALUES_ARE_SECRET = /^(env|envs|environment|headers|http_headers)$/i
const IS_SECRET = /key|token|secret|password|credential|authorization/i

/** What would be started, for people or programs. Nothing secret is shown. */
export function printPlan(context: CliContext, flags: GlobalFlags, plan: LaunchPlan): void {
  const screen = createScreen(context, flags)
  const shown = shownOf(plan)
  if (screen.json) return screen.dataJson(shown)
  const { command, environment, files, links } = shown
  const variables = Object.entries(environment)
  screen.data(`${command.map(shellWord).join(' ')}\n`)
  if (variables.length > 0) screen.data('\nEnvironment:\n')
  for (const [name, value] of variables)
    screen.data(value === null ? `  unset ${name}\n` : `  ${name}=${shellWord(value)}\n`)
  for (const [path, content] of Object.entries(files)) screen.foreign(`\n${path}:\n${indented(content)}\n`)
  if (links.length > 0) screen.data('\nLinked, so that the rest stays as it is:\n')
  for (const { from, to, except } of links) screen.foreign(`  ${to} → ${from} (without ${except.join(', ')})\n`)
  for (const note of plan.notes) screen.say(`! ${note}`)
}

interface ShownPlan {
  readonly command: readonly string[]
  /** Null: taken away. */
  readonly environment: Readonly<Record<string, string | null>>
  readonly files: Readonly<Record<string, Json>>
  readonly links: readonly { readonly from: string; readonly to: string; readonly except: readonly string[] }[]
  readonly notes: readonly string[]
}

function shownOf({ program, args, environment, files, mirrors, notes }: LaunchPlan): ShownPlan {
  return {
    command: [program, ...args].map(redactText),
    environment: Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value ?? null])),
    files: Object.fromEntries(Object.entries(files).map(([path, content]) => [path, masked(content)])),
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
function masked(value: Json): Json {
  if (typeof value === 'string') return redactText(value)
  if (isJsonList(value)) return value.map(masked)
  return isJsonObject(value) ? maskedObject(value) : value
}

function maskedObject(object: JsonObject): JsonObject {
  const members = Object.entries(object).map(([key, value]): [string, Json] => {
    if (value === undefined) return [key, null]
    if (VALUES_ARE_SECRET.test(key)) return [key, hidden(value)]
    return [key, typeof value === 'string' && IS_SECRET.test(key) ? MASK : masked(value)]
  })
  return Object.fromEntries(members)
}

function hidden(value: Json): Json {
  if (isJsonList(value)) return value.map(hidden)
  if (!isJsonObject(value)) return MASK
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, hidden(member ?? null)]))
}
