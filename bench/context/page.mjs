import { cpus } from 'node:os'
import { printNumber, printTable } from '../report/table.mjs'
import { TASK } from './task.mjs'

const HEAD = [
  'results',
  'tokens added to the context',
  'tokens read by the caller’s model',
  'by models of the gateway',
  'sum',
  'model calls',
  'p50 of a call, ms',
]

/** What was measured, as a page of Markdown. */
export function printContextPage({ variants, agents, leftOut }) {
  const parts = [
    '# What isolation keeps out of a context',
    'Written by `npm run bench:context -- --write`.',
    `The same task of ${TASK.length} calls, once for each way in which [results come back](isolation.md): rows, logs, JSON and pages, each with 20, 100, 200, 400 and 800 entries, from a server over stdio. The model is a script on loopback that asks for one call in each turn and is sent the whole conversation each time, as models are. Tokens are those of the requests that the models were sent, by the [estimate](token-estimates.md) of the gateway.`,
    `On ${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.version}. The scripted model thinks in no time: the milliseconds are those of the gateway, its server and the packages that reach a model, and with a real model its own come on top. The model of \`extract\` and \`agent\` is a script too: it reads the built-in prompt and does what that says, so it quotes the last entry, and hands over the result by its id.`,
    '## A caller of our own',
    tableOf(variants),
    legend(variants),
    '## Real agents',
    agents.length === 0 ? '' : tableOf(agents),
    agents.length === 0
      ? ''
      : 'Started by `sallyport run`, with all that they tell their models of themselves. Where one with the cap off has less in its context than our own caller, it cut results itself.',
    leftOut.length === 0 ? '' : `Left out: ${leftOut.join('; ')}.`,
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

const tableOf = (rows) =>
  printTable(
    HEAD,
    rows.map(({ name, added, read, subAgent, calls, subAgentCalls, p50 }) => [
      name,
      printCount(added),
      printCount(read),
      printCount(subAgent),
      printCount(read + subAgent),
      subAgentCalls === 0 ? `${calls}` : `${calls} + ${subAgentCalls}`,
      printNumber(p50),
    ]),
  )

const printCount = (tokens) => Math.round(tokens).toLocaleString('en')

function legend(variants) {
  const [off, on] = variants
  const share = Math.round(100 * (1 - on.added / off.added))
  const each = variants.filter(({ subAgentCalls }) => subAgentCalls > 0)
  const bound = each.map(({ name, subAgent }) => `${printCount(subAgent / TASK.length)} (${name})`)
  return [
    `- The cap, which is on unless it is switched off, keeps ${share} % of what the results would add out of the context.`,
    '- The sub-agent of `agent` hands the result over as it was received. What is over `isolation.budget` then comes back as a preview and a handle, as with `bounded`: what it adds to the context is the same, and the turns of the model come on top. It is worth these where a model has to choose a part.',
    '- A caller that looks into each cut result once asks `sallyport_read_result` for the lines that match a pattern.',
    `- Tokens that a model of the gateway was sent for one call: ${bound.join(', ')}. But for ids, which are drawn anew, they do not depend on what the caller said before.`,
  ].join('\n')
}
