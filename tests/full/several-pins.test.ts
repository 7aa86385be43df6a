import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ChangingTools, createChangingTools } from '../governance/changing-tools.ts'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { errorOf, type Outcome, runCommand } from '../harness/run-command.ts'
import { endProcess, makePlace, type Place, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const OTHER = `sha256-${'0'.repeat(64)}`

const sallyport = ({ home, state }: Place, ...args: readonly string[]): Promise<Outcome> =>
  runCommand([...args, '--home', home, '--state', state])

function placeFor(servers: Readonly<Record<string, ChangingTools>>): Place & { readonly file: string } {
  const entries = Object.entries(servers).map(([name, { entry }]) => [name, entry])
  const place = makePlace({ governance: {}, mcp_servers: Object.fromEntries(entries) })
  onTestFinished(() => place.remove())
  return { ...place, file: join(place.home, 'tools.yaml') }
}

async function reviewed(place: Place, tool: string): Promise<string> {
  const { stdout } = await sallyport(place, 'tools', 'show', tool, '--json')
  return JSON.parse(stdout).review.now
}

async function called(place: Place, ...names: readonly string[]): Promise<readonly string[]> {
  const gateway = await runGateway({ place })
  const answers: string[] = []
  for (const name of names) {
    const { message } = await modernRequest(gateway.mcp, 'tools/call', { name, arguments: {} })
    answers.push(message.result?.content?.[0]?.text ?? JSON.stringify(message))
  }
  await endProcess(gateway.child)
  return answers
}

describe(`${promise('GOV-4')} ${promise('GOV-9')} two entries that pin one tool differently`, () => {
  it.each(['before', 'behind'])(
    'refuse it, wherever they are, until a person accepts it: the other %s',
    async (where) => {
      const place = placeFor({ wiki: createChangingTools({ name: 'read_page' }) })
      const pins = { mcp__wiki__read_page: await reviewed(place, 'read_page'), 'wiki/read_page': OTHER }
      const entries = Object.entries(pins).map(([key, pin]) => `  ${key}:\n    pin: "${pin}"\n`)
      writeFileSync(place.file, `tools:\n${(where === 'before' ? entries.toReversed() : entries).join('')}`)
      const [refused] = await called(place, 'wiki_read_page')
      expect(refused).toContain('Entries of tools.yaml pin different definitions of read_page')
      expect(refused).toContain('definition_changed')
      const check = await sallyport(place, 'tools', 'check')
      expect(check).toMatchObject({ code: 6, stdout: expect.stringContaining('its entries pin different definitions') })
      expect(await sallyport(place, 'tools', 'accept', 'wiki/read_page', '--yes')).toMatchObject({ code: 0 })
      expect(readFileSync(place.file, 'utf8')).not.toContain(OTHER)
      expect(await called(place, 'wiki_read_page')).toEqual(['called read_page'])
    },
  )
})

describe('an entry by a name that tools of two servers have', () => {
  const servers = {
    mine: createChangingTools.bind(undefined, { name: 'read_page', description: 'Reads.' }),
    theirs: createChangingTools.bind(undefined, { name: 'read_page', description: 'Reads, and more.' }),
  }

  it('keeps its pin when one of them is accepted, and the output says what to write', async () => {
    const place = placeFor({ mine: servers.mine(), theirs: servers.theirs() })
    const pin = await reviewed(place, 'mine/read_page')
    const bare = `  read_page:\n    pin: "${pin}"\n`
    writeFileSync(place.file, `tools:\n${bare}`)
    const [mine, theirs] = await called(place, 'mine_read_page', 'theirs_read_page')
    expect(mine).toBe('called read_page')
    expect(theirs).toContain('definition_changed')
    const refused = await sallyport(place, 'tools', 'accept', 'theirs/read_page', '--yes', '--json')
    expect([refused.code, errorOf(refused).code]).toEqual([1, 'TOOLS_FILE_UNSAFE'])
    expect(refused.stderr + refused.stdout).toMatch(/the entry \\"read_page\\" .*which is about other tools too/)
    expect(refused.stderr + refused.stdout).toContain('write the name in full')
    expect(readFileSync(place.file, 'utf8')).toContain(bare)

    writeFileSync(place.file, readFileSync(place.file, 'utf8').replace(bare, '  read_page:\n    hidden: false\n'))
    expect(await called(place, 'mine_read_page', 'theirs_read_page')).toEqual(Array(2).fill('called read_page'))
  })

  it('is not made less strict by "always" for one of them', async () => {
    const place = placeFor({ mine: servers.mine(), theirs: servers.theirs() })
    const own = '  mine/read_page:\n    requires_approval: false\n'
    const text = `tools:\n${own}  read_page:\n    requires_approval: true\n`
    writeFileSync(place.file, text)
    const gateway = await runGateway({ place })
    onTestFinished(() => endProcess(gateway.child))
    const answer = modernRequest(gateway.mcp, 'tools/call', { name: 'mine_read_page', arguments: {} })
    const [asked] = await eventually(
      () => gateway.records().filter(({ type }) => type === 'APPROVAL_REQUESTED'),
      ({ length }) => length > 0,
    )
    const id = String(asked?.approval)
    const refused = await sallyport(place, 'approvals', 'approve', id, '--always', '--yes', '--json')
    expect([refused.code, errorOf(refused).code]).toEqual([4, 'ALWAYS_REFUSED'])
    expect(readFileSync(place.file, 'utf8')).toContain(text)
    expect(await sallyport(place, 'approvals', 'approve', id)).toMatchObject({ code: 0 })
    expect((await answer).message.result.content).toMatchObject([{ text: 'called read_page' }])
  })
})
