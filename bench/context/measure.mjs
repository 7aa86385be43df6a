import { rmSync } from 'node:fs'
import { estimateTokens } from '../../packages/core/dist/index.js'
import { median } from '../report/figures.mjs'
import { answerLooking, runTask } from './caller.mjs'
import { DONE, LegacyClient, makePlace, openScriptedModel, playAgent, runGateway } from './harness.mjs'
import { answerSubAgent, scriptOf, server, TASK } from './task.mjs'

const WORD = 'Something that was said before. '

/** The task by our own caller, with results as the variant has them. */
export async function measureVariant(variant) {
  const mind = await openScriptedModel({ decide: answerSubAgent })
  const model = await openScriptedModel(variant.looks ? { decide: answerLooking } : {})
  const place = makePlace()
  place.writeConfig({ gateway: { startup_wait: '30s' }, ...variant.config(mind.url) })
  const gateway = await runGateway({ place })
  try {
    const client = await LegacyClient.open(gateway.mcp, { authorization: `Bearer ${gateway.token('operator')}` })
    const { latencies, reply } = await runTask({ client, model: model.url, prompt: promptOf(variant) })
    if (!reply?.startsWith(DONE)) throw new Error(`${variant.name}: the task did not end: ${reply}`)
    return { name: variant.name, ...figuresOf(model.requests, mind.requests), p50: median(latencies) }
  } finally {
    await Promise.all([gateway.stop(), mind.close(), model.close()])
    removeTrace()
  }
}

/** The same by a real agent. It decides itself which of its own tools it shows, and how. */
export async function measureAgent(cli, installed, variant) {
  const mind = await openScriptedModel({ decide: answerSubAgent })
  try {
    const script = scriptOf(variant)
    const played = await playAgent(cli, installed, { script, config: () => variant.config(mind.url) })
    const talk = played.requests.filter(({ tools }) => tools.length > 0)
    if (played.results.length < TASK.length)
      throw new Error(`${cli.id} made ${played.results.length} of ${TASK.length} calls: ${played.outcome.stderr}`)
    const name = `${cli.id} ${installed.version}, ${variant.name}`
    return { name, ...figuresOf(talk, mind.requests), p50: latencyIn(played.records) }
  } finally {
    await mind.close()
    removeTrace()
  }
}

/** Tokens of all requests to models: a model reads the whole request each time. */
function figuresOf(own, minds) {
  const tokens = own.map(({ body }) => estimateTokens(body))
  const spent = minds.map(({ body }) => estimateTokens(body))
  return {
    added: Math.max(...tokens) - tokens[0],
    context: Math.max(...tokens),
    read: sum(tokens),
    subAgent: sum(spent),
    calls: own.length,
    subAgentCalls: minds.length,
  }
}

const promptOf = (variant) => {
  const before = WORD.repeat(Math.ceil((variant.history ?? 0) / estimateTokens(WORD)))
  return [before, ...scriptOf(variant)].join('\n')
}

/** The time from sending a call until its answer was sent, by the records. */
function latencyIn(records) {
  const began = new Map(
    records.flatMap(({ type, call_id, time }) => (type === 'TOOL_CALL_STARTED' ? [[call_id, time]] : [])),
  )
  const ends = records.filter(({ type }) => type === 'TOOL_CALL_COMPLETED')
  return median(ends.map(({ call_id, time }) => Date.parse(time) - Date.parse(began.get(call_id))))
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)

const removeTrace = () => rmSync(server({}).args.at(-1), { force: true })
