import { type Directive, parseScript } from './script.ts'

/** A tool as the client offers it to the model. */
export interface OfferedTool {
  readonly name: string
  readonly namespace?: string
  /** Takes free text (OpenAI's custom tools). */
  readonly custom?: boolean
  /** Belongs to the API itself, and has no schema. */
  readonly builtin?: boolean
}

export interface ToolResult {
  readonly tool: string
  readonly text: string
}

/** The content of one request, for every API. */
export interface Conversation {
  readonly tools: readonly OfferedTool[]
  /** In order: messages of the user and results of tools. */
  readonly entries: readonly ({ readonly user: string } | { readonly result: ToolResult })[]
  /** The whole request, for names that clients only mention in text. */
  readonly everything: string
}

export interface ModelCall {
  readonly tool: OfferedTool
  readonly args: Readonly<Record<string, unknown>>
  /** Before this answer is given: a client may still be starting its servers. */
  readonly waitMs?: number
}

export type ModelAnswer = { readonly text: string } | { readonly calls: readonly ModelCall[] }

/** Distinguishes a finished script from a client that gave up. */
export const DONE = 'SCRIPT DONE'
const SEARCH = /^tool_?search$/i
const MAX_SEARCHES = 4

export const fullName = ({ namespace, name }: OfferedTool): string => (namespace ? `${namespace}/${name}` : name)

/**
 * The next turn of the script in the newest message of the user.
 *
 * A tool is named by its last words (`notes_search`), in any spelling; `!name` is sent as it is, offered or not.
 */
export function answerByScript(conversation: Conversation): ModelAnswer {
  const { turns, results } = progressOf(conversation)
  // Clients also ask for titles and summaries, without tools.
  if (turns.length === 0 || conversation.tools.length === 0) return { text: 'nothing to do' }
  let done = 0
  for (const turn of turns) {
    const calls = turn.filter((directive) => directive.kind === 'call')
    if (done + calls.length > results.length) return callAll(conversation, calls.slice(results.length - done))
    done += calls.length
  }
  const texts = turns.flat().flatMap((directive) => (directive.kind === 'say' ? directive.text : []))
  return { text: [DONE, ...results.map(({ tool, text }) => `${tool} => ${text}`), ...texts].join('\n') }
}

/** The position in the newest script; searches for tools do not count. */
export function progressOf({ entries }: Pick<Conversation, 'entries'>) {
  const at = entries.findLastIndex((entry) => 'user' in entry && parseScript(entry.user).length > 0)
  const script = entries[at]
  const results = entries.slice(at + 1).flatMap((entry) => ('result' in entry ? entry.result : []))
  return {
    turns: script && 'user' in script ? parseScript(script.user) : [],
    results: results.filter(({ tool }) => !SEARCH.test(tool)),
    searches: results.filter(({ tool }) => SEARCH.test(tool)),
  }
}

type CallDirective = Extract<Directive, { kind: 'call' }>

function callAll(conversation: Conversation, wanted: readonly CallDirective[]): ModelAnswer {
  const calls: ModelCall[] = []
  for (const { tool: name, args } of wanted) {
    const tool = findTool(conversation.tools, name)
    if (tool) {
      calls.push({ tool, args })
      continue
    }
    const search = searchFor(conversation, name, args)
    return search ? { calls: [search] } : { text: `no such tool: ${name}` }
  }
  return { calls }
}

const fold = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')

function findTool(tools: readonly OfferedTool[], wanted: string): OfferedTool | undefined {
  if (wanted.startsWith('!')) return splitName(wanted.slice(1))
  const words = fold(wanted)
  return tools
    .filter((tool) => fold(fullName(tool)) === words || fold(fullName(tool)).endsWith(`_${words}`))
    .sort((one, other) => fullName(one).length - fullName(other).length)[0]
}

function splitName(full: string): OfferedTool {
  const [name = '', namespace] = full.split('/').reverse()
  return namespace === undefined ? { name } : { name, namespace }
}

/** Tools that a client mentions in a text. */
const mentionedIn = (text: string): readonly OfferedTool[] =>
  [...text.matchAll(/\bmcp[\w.:-]*/g)].map(([name]) => ({ name }))

/** Reaches a tool that the client defers behind a search: retries while its servers start, then uses its bridge tool. */
function searchFor(
  { tools, entries, everything }: Conversation,
  wanted: string,
  args: ModelCall['args'],
): ModelCall | undefined {
  const search = tools.find(({ name }) => SEARCH.test(name))
  if (!search) return undefined
  const results = entries.flatMap((entry) => ('result' in entry ? entry.result : []))
  const searches = results.length - 1 - results.findLastIndex(({ tool }) => !SEARCH.test(tool))
  const bridge = tools.find(({ name }) => name === 'tool_call')
  const found = searches > 0 && findTool(mentionedIn(results.at(-1)?.text ?? ''), wanted)
  if (bridge && found) return { tool: bridge, args: { name: found.name, arguments: args } }
  if (searches >= MAX_SEARCHES) return undefined
  const held = findTool(mentionedIn(everything), wanted)
  const query = held ? `select:${held.name}` : fold(wanted).replaceAll('_', ' ')
  const limit = search.builtin ? { limit: 8 } : { max_results: 5 }
  return { tool: search, args: { query, ...limit }, waitMs: searches * 1_000 }
}
