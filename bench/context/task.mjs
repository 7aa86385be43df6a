import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SERVER = fileURLToPath(new URL('../../tests/fixtures/flood-server.mjs', import.meta.url))
const KINDS = ['csv', 'log', 'json', 'html']
/** How many rows, lines, items or paragraphs: from sizes that are always shown whole to far too large ones. */
const COUNTS = [20, 100, 200, 400, 800]

/** Twenty calls: rows, logs, JSON and pages, each in five sizes. */
export const TASK = COUNTS.flatMap((count) => KINDS.map((kind) => ({ kind, count })))

/** The task as a script: one line is one turn of the model. With `intent` each call says what is wanted of it. */
export const scriptOf = ({ intent }) =>
  TASK.map((args) => `[[call db_flood ${JSON.stringify(intent ? { ...args, _intent: QUESTION } : args)}]]`)

const QUESTION = 'Which entry is the last one, and what does it say?'

export const server = (entry) => ({
  command: process.execPath,
  args: [SERVER, join(tmpdir(), `sallyport-context-${process.pid}.calls`)],
  ...entry,
})

/**
 * The model of `extract` and `agent`. It has no answer of its own: it does what the prompt that it gets tells it to do,
 * with the content of the messages, and fails if that cannot be done.
 */
export function answerSubAgent({ tools, entries, everything }) {
  const named = (name) => tools.find((tool) => tool.name === name)
  const answer = named('answer')
  if (answer) return { calls: [{ tool: answer, args: answerFrom(lastUser(entries)) }] }
  const results = entries.flatMap((entry) => ('result' in entry ? [entry.result] : []))
  if (results.length === 0) return { calls: [requestedCall(lastUser(entries), named)] }
  return { calls: [{ tool: named('complete_task'), args: handOver(results.at(-1).text, everything) }] }
}

const lastUser = (entries) => entries.flatMap((entry) => ('user' in entry ? [entry.user] : [])).at(-1) ?? ''

/** "Call the tool x of the server y with these arguments: …" */
function requestedCall(query, named) {
  const [, name, args] = /^Call the tool (\S+) of the server \S+ with these arguments:\n(.*)$/s.exec(query) ?? []
  const tool = named(name)
  if (tool === undefined) throw new Error(`The prompt asks for no tool that there is: ${query}`)
  return { tool, args: JSON.parse(args) }
}

/** "To hand over what the tool returned, give output {"$result": "<id>"} with the id that stands above the result" */
function handOver(result, everything) {
  const id = /^Result (r\d+)\./.exec(result)?.[1]
  if (id === undefined) return { success: false, output: null, error: result.slice(0, 200) }
  if (!everything.includes('$result')) throw new Error('The prompt does not say how a result is handed over.')
  return { success: true, output: { $result: id } }
}

/** The question asks for the last entry: it is quoted from between the marks. */
function answerFrom(prompt) {
  const [, question] = /^Question: (.*)$/m.exec(prompt) ?? []
  const [, data] = /<([0-9a-f]+)>\n(.*)\n<\/\1>/s.exec(prompt)?.slice(1) ?? []
  if (question !== QUESTION || data === undefined) throw new Error(`The prompt is not the one of extract: ${prompt}`)
  const last = data.trimEnd().split('\n').at(-1).slice(-MAX_QUOTE_LENGTH)
  return { answer: 'The last entry is quoted.', quotes: [last] }
}

const MAX_QUOTE_LENGTH = 120
