import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makePlace } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { fixture } from './agent-place.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import { findInstalled } from './installed-agent.ts'
import { playAgent } from './played-agent.ts'

const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = AGENT_CLIS.filter(({ id }) => wanted.includes(id)).map((cli) => [cli.id, cli] as const)

/** 620 KB: more than any agent is shown. */
const ROWS = 20_000

/** The rows of a text, each once: some agents show a result twice. */
const rowsIn = (text = ''): readonly number[] => [
  ...new Set([...text.matchAll(/\brow (\d+)/g)].map(([, row]) => Number(row))),
]

const omittedIn = (text = ''): readonly number[] => [
  ...new Set([...text.matchAll(/([\d,]+) items omitted/g)].map(([, count = '']) => Number(count.replaceAll(',', '')))),
]

describe.each(clis)('%s', (id, cli) => {
  it.each([
    ['over its limit', {}],
    ['of an isolated tool', { isolated: true }],
  ])(
    `${promise('ISO-17')} shows its model a part of a structured result %s, and the way to the rest`,
    async (_, entry) => {
      const installed = findInstalled(id)
      if (!installed) throw new Error(`${id} is not installed.`)
      const notes = makePlace()
      onTestFinished(() => notes.remove())
      const server = { command: 'node', args: [fixture('flood-server.mjs'), join(notes.home, 'calls')], ...entry }
      const { results, outcome } = await playAgent(cli, installed, {
        script: [`[[call db_table {"count":${ROWS}}]]`, '[[call db_table {"count":3}]]'],
        config: () => ({ mcp_servers: { db: server } }),
      })
      const [large, small] = results
      expect(large?.text, outcome.stderr).toContain('sallyport_read_result')
      const shown = rowsIn(large?.text)
      expect(shown).toEqual(expect.arrayContaining([0, ROWS - 1]))
      expect(omittedIn(large?.text), large?.text).toEqual([ROWS - shown.length])
      // The agent itself has cut nothing more.
      expect(shown.length).toBeLessThan(ROWS / 2)
      expect(rowsIn(small?.text)).toEqual([0, 1, 2])
    },
  )
})
