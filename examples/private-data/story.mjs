// What happens, step by step. Every call goes through a gateway that runs as a program of its own.
import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectAgent, runCommand, startGateway } from './gateway.mjs'
import { openModel } from './model.mjs'
import { openOutside } from './outside.mjs'
import { heading, show } from './transcript.mjs'

const EXAMPLE = fileURLToPath(new URL('.', import.meta.url))

/** Plays the story; all that is written goes into the folder. @returns the servers outside, with what they received */
export async function play(work) {
  const outside = await openOutside()
  const secret = randomBytes(32).toString('hex')
  const own = { EXAMPLE, WORK: work, SALLYPORT_KEYS: join(work, 'keys'), JWT_SECRET: secret }
  const env = { ...process.env, ...own, ...(await openModel()).env, ...addressesOf(outside) }
  const place = { home: join(work, 'home'), state: join(work, 'state'), env }
  // A copy, since the gateway adds the tools that it finds to tools.yaml.
  cpSync(join(EXAMPLE, 'home'), place.home, { recursive: true })
  let gateway = await startGateway(place)

  /** An agent that prints what it calls and what it gets; what can be done instead is long, and printed once. */
  let isExplained = false
  const open = async (user, session) => {
    const client = await connectAgent({ url: gateway.url, secret, user, session })
    return async (tool, args = {}) => {
      const { content } = await client.callTool({ name: tool, arguments: args })
      const [{ text }] = content
      show(`${user}'s agent: ${tool} ${JSON.stringify(args)}`, '  ')
      show(isExplained ? text.replace(/What can be done: .*/, 'What can be done: …') : text)
      isExplained ||= text.includes('What can be done')
      return text
    }
  }
  const type = async (...words) => {
    show(`$ sallyport ${words.join(' ')}`, '  ')
    show(await runCommand(place, words))
  }

  heading('1. Anna reads payroll')
  let anna = await open('anna', 'monday')
  const [handle] = /r_\w+/.exec(await anna('payroll_read_payroll'))

  heading('2. She cannot post it: the answer says what she can do instead')
  await anna('chat_post_message', { text: 'Ada 520138, Bob 410276, Cho 470193' })

  heading('3. Ben works at the same server: he can post, and sees nothing of hers')
  let ben = await open('ben', 'monday')
  await Promise.all([ben('chat_post_message', { text: 'Lunch at noon?' }), anna('payroll_list_files')])
  await ben('payroll_list_files')
  await ben('sallyport_read_result', { handle })

  heading('4. The gateway is killed and started again: it still knows')
  await gateway.end('SIGKILL')
  gateway = await startGateway(place)
  anna = await open('anna', 'monday')
  ben = await open('ben', 'monday')
  const total = { text: 'October: 1400607 in total' }
  const refused = await anna('chat_post_message', total)
  await type('sessions')

  heading('Way out 1: a person reads what would leave, and approves this one call')
  const [, id] = /approvals approve (\w+)/.exec(refused)
  await type('approvals', 'show', id)
  await type('approvals', 'approve', id)
  await anna('chat_post_message', total)
  await anna('chat_post_message', { text: 'October: 1400607, Ada has 520138 of it' })

  heading('Way out 2: a server with an isolated instance, which has no network')
  await anna('charts_draw', { text: '520138 410276 470193' })
  await ben('charts_draw', { text: '500 1000 1500' })

  heading('Way out 3: a host that confidential data may reach')
  await anna('ledger_book', { text: 'October 1400607' })

  heading('Way out 4: a new session, in which a sub-agent reads the salaries')
  anna = await open('anna', 'tuesday')
  const { people, within_budget } = JSON.parse(await anna('files_read_text_file', { path: 'hr/salaries.csv' }))
  const where = within_budget ? 'within' : 'over'
  await anna('chat_post_message', { text: `The salaries of ${people} people are ${where} the budget.` })
  await type('sessions')

  await gateway.end('SIGTERM')
  return outside
}

const addressesOf = ({ chat, charts, chartsIsolated, ledger }) => ({
  CHAT_URL: chat.url,
  CHARTS_URL: charts.url,
  CHARTS_ISOLATED_URL: chartsIsolated.url,
  LEDGER_URL: ledger.url,
  LEDGER_HOST: ledger.host,
})
