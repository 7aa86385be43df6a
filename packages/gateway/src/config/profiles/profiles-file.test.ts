import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createHome, temporaryFolder } from '../home/home.test-kit.ts'
import { NO_PROFILE, profileEtag } from './profile-etag.ts'
import { ProfilesEditor } from './profiles-editor.ts'

const REVIEWER = { agent: 'claude', variant: 'Reviewer' }

async function deskOn(text?: string) {
  const home = await createHome(text === undefined ? {} : { 'profiles.json': text })
  const desk = new ProfilesEditor({ home: { path: home, origin: 'flag' }, state: await temporaryFolder() })
  return { desk, home, file: join(home, 'profiles.json') }
}

describe('profiles.json on disk', () => {
  it('is created if it is missing, and no temporary file is left', async () => {
    const { desk, home, file } = await deskOn()
    const { profiles } = await desk.set(REVIEWER, { selectedMcpTools: ['docs'], tokenBudget: 100 })
    expect(profiles.get('claude-code.reviewer')).toMatchObject({ selectedMcpTools: ['docs'], tokenBudget: 100 })
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      executors: { CLAUDE_CODE: { REVIEWER: { selected_mcp_tools: ['docs'], token_budget: 100 } } },
    })
    expect(await readdir(home)).toEqual(['profiles.json'])
  })

  it(`${promise('AG-22')} refuses a change with the etag of another state of this profile, with an error`, async () => {
    const { desk, file } = await deskOn('{"executors": {}}')
    await desk.set(REVIEWER, { title: 'first' }, NO_PROFILE)
    const late = desk.set(REVIEWER, { title: 'second' }, NO_PROFILE)
    await expect(late).rejects.toMatchObject({ code: 'PROFILES_CHANGED' })
    await expect(desk.remove(REVIEWER, NO_PROFILE)).rejects.toMatchObject({ code: 'PROFILES_CHANGED' })
    expect(await readFile(file, 'utf8')).not.toContain('second')
  })

  it(`${promise('AG-22')} does not refuse it because another profile was changed`, async () => {
    const { desk } = await deskOn('{"executors": {"CODEX": {"X": {"title": "x"}}}}')
    const seen = profileEtag((await desk.read()).profiles.get('codex.x'))
    await desk.set(REVIEWER, { title: 'first' }, NO_PROFILE)
    const { profiles } = await desk.set({ agent: 'codex', variant: 'x' }, { title: 'y' }, seen)
    expect([...profiles.values()].map(({ title }) => title)).toEqual(expect.arrayContaining(['first', 'y']))
  })

  it('gives a profile another etag if the selection of its agent changes, and only then', async () => {
    const shared = (selection: string) =>
      deskOn(
        `{"executors": {"CODEX": {"selected_mcp_tools": ["${selection}"], "X": {}, "Y": {"selected_mcp_tools": []}}}}`,
      )
    const read = async (selection: string, name: string) =>
      profileEtag((await (await shared(selection)).desk.read()).profiles.get(name))
    expect(await read('docs', 'codex.x')).not.toBe(await read('files', 'codex.x'))
    expect(await read('docs', 'codex.y')).toBe(await read('files', 'codex.y'))
  })

  it('applies many simultaneous changes one after the other, and loses none', async () => {
    const { desk } = await deskOn()
    const variants = Array.from({ length: 20 }, (_, at) => `v${at}`)
    await Promise.all(variants.map((variant) => desk.set({ agent: 'codex', variant }, { title: variant })))
    const { profiles } = await desk.read()
    expect([...profiles.keys()]).toEqual(expect.arrayContaining(variants.map((variant) => `codex.${variant}`)))
  })

  it('accepts exactly one of several changes of the same state', async () => {
    const { desk } = await deskOn('{}')
    const tries = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((title) => desk.set(REVIEWER, { selectedMcpTools: [title] }, NO_PROFILE)),
    )
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('preserves a byte order mark, and is not written if nothing changes', async () => {
    const text = '\ufeff{"executors": {"CLAUDE_CODE": {"Reviewer": {"title": "x"}}}}'
    const { desk, file } = await deskOn(text)
    const { etag } = await desk.read()
    expect((await desk.set(REVIEWER, { title: 'x' })).etag).toBe(etag)
    await desk.set(REVIEWER, { title: 'y' })
    expect(await readFile(file, 'utf8')).toBe(text.replace('"x"', '"y"'))
  })

  it('with an error is not changed, and the location is reported', async () => {
    const text = '{"executors": {"CODEX": {"A": {"selected_mcp_tools": "all"}}}}'
    const { desk, file } = await deskOn(text)
    await expect(desk.set(REVIEWER, {})).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(
        'profiles.json:1:32 executors.CODEX.A.selected_mcp_tools: expected a list of names',
      ),
    })
    expect(await readFile(file, 'utf8')).toBe(text)
  })

  it.each([
    ['__proto__', 'reserved'],
    ['__x', 'reserved'],
    ['', 'printable'],
    ['a\nb', 'printable'],
    ['x'.repeat(300), 'printable'],
  ])('does not accept the variant %j', async (variant, why) => {
    const { desk } = await deskOn('{}')
    const refused = desk.set({ agent: 'codex', variant }, {})
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_PARAMS', message: expect.stringContaining(why) })
  })

  it.each(['', 'a b', '../x', '__proto__', 'x'.repeat(100)])('does not accept the agent %j', async (agent) => {
    const { desk } = await deskOn('{}')
    await expect(desk.set({ agent, variant: 'a' }, {})).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('accepts variants with the names of inherited properties', async () => {
    const { desk } = await deskOn('{}')
    await desk.set({ agent: 'constructor', variant: 'toString' }, { title: 'x' })
    const { profiles } = await desk.read()
    expect(profiles.get('constructor.tostring')).toMatchObject({ title: 'x' })
  })

  it('does not delete the default of an agent, and lists the known variants if one is unknown', async () => {
    const { desk } = await deskOn('{"executors": {"CODEX": {"CI": {}}}}')
    await expect(desk.remove({ agent: 'codex', variant: 'Default' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expect(desk.remove({ agent: 'codex', variant: 'cj' })).rejects.toMatchObject({
      code: 'PROFILE_UNKNOWN',
      hint: expect.stringContaining('codex.ci, codex.default'),
    })
    const { profiles } = await desk.remove({ agent: 'codex', variant: 'ci' })
    expect([...profiles.keys()]).toEqual(['codex.default'])
  })

  it('that is edited by hand in between is read again', async () => {
    const { desk, file } = await deskOn('{}')
    await desk.read()
    await writeFile(file, '{"executors": {"CODEX": {"A": {"x": 1}}}}')
    await desk.set({ agent: 'codex', variant: 'a' }, { title: 't' })
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ executors: { CODEX: { A: { x: 1, title: 't' } } } })
  })
})
