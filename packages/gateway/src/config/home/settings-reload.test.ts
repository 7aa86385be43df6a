import { EventEmitter, once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { scratchFolder } from '../../store/scratch.test-kit.ts'
import { type Home, loadSettings, readHome, recordTrust } from '../config.ts'
import { SettingsReload } from './settings-reload.ts'
import type { SettingsChange } from './watch-settings.ts'

/** A project home, and a gateway that reports which changes it applied or refused. */
function project() {
  const folder = scratchFolder()
  const home: Home = { path: join(folder, '.sallyport'), origin: 'project' }
  const state = join(folder, 'state')
  mkdirSync(home.path)
  mkdirSync(state)
  const reports = new EventEmitter()
  const seen: string[] = []
  const tell = (text: string): void => {
    seen.push(text)
    reports.emit('reported')
  }
  const reload = new SettingsReload({
    home,
    state,
    gateway: { reload: ({ settings }) => tell(`port ${settings.gateway.port}`), rejectSettings: tell },
    askEvery: 10,
  })
  onTestFinished(() => reload.close())
  const changeTo = async (port: number): Promise<SettingsChange & { ok: true }> => {
    writeFileSync(join(home.path, 'config.yaml'), `gateway: { port: ${port} }\n`)
    const content = await readHome(home.path)
    return { ok: true, loaded: await loadSettings({ home: home.path, environment: {}, content }) }
  }
  const trust = ({ loaded }: SettingsChange & { ok: true }) => recordTrust({ home, content: loaded, state })
  return { reload, changeTo, trust, seen, reports }
}

it('a change that is trusted later is applied automatically, and is refused only once', async () => {
  const { reload, changeTo, trust, seen, reports } = project()
  const change = await changeTo(2)
  await reload.apply(change)
  expect(seen).toEqual([expect.stringContaining('not trusted')])
  const taken = once(reports, 'reported')
  await trust(change)
  await taken
  expect(seen.slice(1)).toEqual(['port 2'])
})

it('a change that waits for trust is dropped when the next one comes', async () => {
  const { reload, changeTo, trust, seen, reports } = project()
  const [first, second] = [await changeTo(2), await changeTo(3)]
  await reload.apply(first)
  await reload.apply(second)
  const taken = once(reports, 'reported')
  await trust(first)
  await trust(second)
  await taken
  expect(seen.slice(2)).toEqual(['port 3'])
})

it('of two simultaneous changes only the later one is applied', async () => {
  const { reload, changeTo, trust, seen } = project()
  const [first, second] = [await changeTo(2), await changeTo(3)]
  await trust(second)
  await Promise.all([reload.apply(first), reload.apply(second)])
  expect(seen).toEqual(['port 3'])
})
