import { describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import { findInstalled } from './installed-agent.ts'
import { type Plant, type PlantedRun, type Start, startPlanted } from './planted-agent.ts'
import { PLANTS } from './plants.ts'
import { DONE } from './scripted-answer.ts'

const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const cases = AGENT_CLIS.filter(({ id }) => wanted.includes(id)).flatMap((cli) =>
  (PLANTS[cli.id] ?? []).map(
    (plant) => [cli.id, [plant.source, plant.place].filter(Boolean).join(', '), { cli, plant }] as const,
  ),
)

const storyOf = ({ outcome, requests }: PlantedRun): string =>
  JSON.stringify({ outcome, requests: requests.map(({ body: _body, ...rest }) => rest) }, undefined, 1)

describe.each(cases)('%s with a server planted in: %s', (_, __, { cli, plant }) => {
  const start = (how: Start): Promise<PlantedRun> => {
    const installed = findInstalled(cli.id)
    if (!installed) throw new Error(`${cli.id} is not installed.`)
    return startPlanted(cli, { installed, plant, start: how })
  }

  it('is started by the agent alone', async () => {
    const alone = await start('alone')
    expect(alone.started, storyOf(alone)).toBe(true)
  })

  it(`${promise('AG-14')} is not started by \`run\`, which ${plant.refusal ? 'refuses to start the agent' : 'keeps it away'}`, async () => {
    const run = await start('run')
    expect(run.started, storyOf(run)).toBe(false)
    if (plant.refusal) {
      expect(run.requests).toEqual([])
      expect(run.outcome.code).toBeOneOf([2, 4])
      expect(run.outcome.stderr).toMatch(plant.refusal)
    } else {
      expect(run.outcome.code, storyOf(run)).toBe(0)
      const answers = run.requests.map(({ answer }) => ('text' in answer ? answer.text : ''))
      expect(answers, storyOf(run)).toContainEqual(expect.stringContaining(DONE))
    }
  })

  it.runIf(plant.refusal !== undefined && plant.refusal.source !== 'would change the servers')(
    `${promise('AG-16')} is started if that was allowed, and then it is recorded`,
    async () => {
      const run = await start('run, other servers allowed')
      expect(run.started, storyOf(run)).toBe(true)
      expect(run.outcome.stderr).toContain('its servers are not governed')
      const minted = run.records.find(({ type }) => type === 'TOKEN_MINTED')
      expect(minted?.other_servers).toContainEqual(expect.stringMatching(plant.refusal ?? /^$/))
    },
  )
})

it.runIf(wanted.includes('goose'))(
  `${promise('AG-14')} goose resumes under \`run\` a session that it began under \`run\``,
  async () => {
    const cli = AGENT_CLIS.find(({ id }) => id === 'goose')
    const installed = findInstalled('goose')
    if (!cli || !installed) throw new Error('goose is not installed.')
    const plant: Plant = {
      source: 'none',
      earlier: (prompt) => ['run', '-n', 'before', '-t', prompt],
      earlierStart: 'run',
      args: (prompt) => ['run', '--resume', '-n', 'before', '-t', prompt],
    }
    const resumed = await startPlanted(cli, { installed, plant, start: 'run' })
    expect(resumed.outcome.code, storyOf(resumed)).toBe(0)
    expect(resumed.requests.at(-1)?.tools).toEqual(expect.arrayContaining(['gw__notes_create_note', 'shell']))
  },
)
