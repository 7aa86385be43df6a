import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import { SessionLabels } from '../governance/governance.ts'
import { openStore } from '../store/store.ts'
import { createSessionControl } from './session-control.ts'
import { openSessionData } from './session-data.ts'

const ANNA = { user: 'anna', session: 'payroll', agent: 'any', profile: 'default', role: 'agent' } as const

it('says when a label rose also after a restart, before and after the session has called', async () => {
  const state = await mkdtemp(join(tmpdir(), 'sallyport-sessions-'))
  const store = openStore({ state, durability: 'process' })
  onTestFinished(async () => {
    await store.close()
    await rm(state, { recursive: true, force: true })
  })
  const start = () => {
    const labels = new SessionLabels({ records: store.labels, record: async () => {}, onWarning: () => {} })
    const settings = () => DEFAULT_SETTINGS
    const { ended, sessionResults } = openSessionData({ state, environment: {}, settings, onWarning: () => {} })
    return {
      labels,
      control: createSessionControl({
        endPrograms: async () => {},
        sessionResults,
        labels,
        records: store.labels,
        ended,
        record: async () => {},
      }),
    }
  }
  const before = start()
  const dataset = { name: 'payroll: salaries', sensitivity: 'CONFIDENTIAL' } as const
  await before.labels.raise(await before.labels.load(ANNA), { datasets: [dataset], reason: 'a test' })
  const [{ raised } = {}] = before.control.list()
  expect(raised).toBeInstanceOf(Date)

  const after = start()
  const remembered = after.control.list()[0]?.raised
  expect(remembered).toBeInstanceOf(Date)
  await after.labels.load(ANNA)
  expect(after.control.list()).toMatchObject([{ sensitivity: 'CONFIDENTIAL', datasets: [dataset], raised: remembered }])
})
