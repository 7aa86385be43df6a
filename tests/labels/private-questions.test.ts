import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../governance/governed-bench.ts'
import { HttpSession } from '../harness/asked-client.ts'
import { createLocalEverything, type EverythingServer } from '../harness/everything-server.ts'
import { makePlace, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/forwarded-server.mjs', import.meta.url))
const SALARY = 'Ada earns 5200'

let folder: ReturnType<typeof makeFolder>
let outside: EverythingServer
let gateway: RunningGateway

/** The same server of the kit over both eras, and one that may tell anybody. */
beforeAll(async () => {
  folder = makeFolder()
  outside = createLocalEverything()
  const kit = (era: string) => ({
    command: process.execPath,
    args: [FIXTURE],
    env: { SALLYPORT_DATA: join(folder.path, era) },
    ...{ era, identity: 'forward', trusted: true },
  })
  const place = makePlace({
    governance: { enforce: true, escalation: { policy_violations: false } },
    mcp_servers: { modern: kit('modern'), legacy: kit('legacy'), closed: kit('modern'), outside: outside.entry },
  })
  const open = { requires_approval: false }
  const mayAsk = { ...open, permission: ['READ'] }
  const tools = {
    ...{ 'modern/ask': open, 'legacy/ask': open, 'closed/ask': open, 'outside/echo': open },
    ...{ 'modern/elicitation/create': mayAsk, 'legacy/elicitation/create': mayAsk },
  }
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  gateway = await runGateway({ place, args: [], env: { SALLYPORT_KEYS: join(folder.path, 'keys') } })
})

afterAll(async () => {
  await gateway.stop()
  await outside.close()
  folder.remove()
})

async function openClient(session: string): Promise<HttpSession> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'codex', session })
  const reply = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
  const { token } = (await reply.json()) as { token: string }
  return HttpSession.open(gateway.mcp, { elicitation: {} }, { authorization: `Bearer ${token}` })
}

const send = async (client: HttpSession, message: string): Promise<string> =>
  JSON.stringify(await client.request('tools/call', { name: 'outside_echo', arguments: { message } }))

describe(`a question that contains private data (${promise('SEN-2')}, ${promise('SEN-20')})`, () => {
  it.each(['legacy', 'modern'])('raises the label before anybody is asked it: a server of the %s era', async (era) => {
    const client = await openClient(era)
    expect(await send(client, `${era} before`)).toContain('Echo')
    const call = client.call({ name: `${era}_ask` })
    const question = await call.question()
    expect(JSON.stringify(question)).toContain(SALARY)
    expect(JSON.stringify(question)).not.toContain('private_data')
    expect(await send(client, `${era}: ${SALARY}`)).toContain('PRIVATE_SESSION')
    await client.answer(question.id, { result: { action: 'decline' } })
    expect(JSON.stringify(await call.reply())).toContain('decline')
    expect(outside.receivedText()).not.toContain(SALARY)
  })

  it('is not asked if questions of its server count as reaching out, which they do by default', async () => {
    const client = await openClient('closed')
    const { answer, questions } = await client.converse({ name: 'closed_ask' }, () => ({
      result: { action: 'accept' },
    }))
    expect(questions).toEqual([])
    expect(answer.result).toMatchObject({ isError: true })
    expect(await send(client, SALARY)).toContain('PRIVATE_SESSION')
  })
})
