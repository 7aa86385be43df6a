import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SERVER = fileURLToPath(new URL('../../tests/fixtures/flood-server.mjs', import.meta.url))
const KINDS = ['csv', 'log', 'json', 'html']
/** How many rows, lines, items or paragraphs: from what everybody shows whole to what nobody should. */
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

/** The model of `extract` and `agent`: it answers as shortly as one that does what it is told. */
export function answerSubAgent({ tools, entries }) {
  const named = (name) => tools.find((tool) => tool.name === name)
  const answer = named('answer')
  if (answer) return { calls: [{ tool: answer, args: { answer: ANSWER, quotes: [] } }] }
  const complete = named('complete_task')
  const target = tools.find((tool) => tool !== complete)
  const hasSeen = entries.some((entry) => 'result' in entry)
  if (!hasSeen && target) return { calls: [{ tool: target, args: {} }] }
  return { calls: [{ tool: complete, args: { success: true, output: ANSWER } }] }
}

const ANSWER = 'The last entry is number 799; it says what all others say, with its own number in it.'
