import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Profiles } from '../settings.ts'
import { createHome, temporaryFolder } from './home.test-kit.ts'
import { readHome } from './home-content.ts'
import { type SettingsChange, type WatchOptions, watchSettings } from './watch-settings.ts'

const port = (number: number): string => `gateway: {port: ${number}}\n`

interface Watched {
  readonly seen: readonly SettingsChange[]
  /** The first change, from the first or from now on, that fits. */
  until(fits: (change: SettingsChange) => boolean): Promise<SettingsChange>
  close(): Promise<void>
}

async function watched(home: string, options: Partial<WatchOptions> = {}): Promise<Watched> {
  const seen: SettingsChange[] = []
  const events = new EventEmitter()
  const watch = watchSettings({
    home,
    environment: {},
    current: await readHome(home),
    ...options,
    onChange: (change) => {
      seen.push(change)
      events.emit('change')
    },
  })
  onTestFinished(() => watch.close())
  const until = async (fits: (change: SettingsChange) => boolean): Promise<SettingsChange> => {
    for (;;) {
      const found = seen.find(fits)
      if (found !== undefined) return found
      await once(events, 'change')
    }
  }
  return { seen, until, close: () => watch.close() }
}

const hasPort =
  (number: number) =>
  (change: SettingsChange): boolean =>
    change.ok && change.loaded.settings.gateway.port === number

const isFailure = (change: SettingsChange): boolean => !change.ok

describe('watching the settings', () => {
  it('tells of a file that was written in place', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until, seen } = await watched(home)
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
    expect(seen).toHaveLength(1)
  })

  it('tells of a file that an editor replaced by renaming', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until } = await watched(home)
    for (const number of [2, 3]) {
      await writeFile(join(home, 'draft'), port(number))
      await rename(join(home, 'draft'), join(home, 'config.yaml'))
      await until(hasPort(number))
    }
  })

  it('tells of a link that was turned, and of the file behind a link', async () => {
    const [home, a, b] = [await temporaryFolder(), await createHome({ c: port(1) }), await createHome({ c: port(2) })]
    await symlink(join(a, 'c'), join(home, 'config.yaml'))
    const { until } = await watched(home)
    await symlink(join(b, 'c'), join(home, 'next'))
    await rename(join(home, 'next'), join(home, 'config.yaml'))
    await until(hasPort(2))
    await writeFile(join(b, 'c'), port(3))
    await until(hasPort(3))
  })

  it('does not tell of profiles that were read before newer ones were put in force', async () => {
    const executors = (variant: string): string => JSON.stringify({ executors: { CODEX: { [variant]: {} } } })
    const home = await createHome({ 'config.yaml': port(1), 'profiles.json': executors('FIRST') })
    let inForce: Profiles = new Map()
    // Asked for in the middle of a reading, as a write by another way would come.
    const environment = {
      get LATE() {
        writeFileSync(join(home, 'profiles.json'), executors('THIRD'))
        inForce = new Map()
        Object.defineProperty(environment, 'LATE', { value: '2' })
        return '2'
      },
    }
    const { until, seen } = await watched(home, { environment, profilesInForce: () => inForce })
    await writeFile(join(home, 'profiles.json'), executors('SECOND'))
    await writeFile(join(home, 'config.yaml'), `gateway: {port: "\${LATE}"}\n`)
    await until(hasPort(2))
    const told = seen.map((change) => change.ok && [...change.loaded.settings.profiles.keys()])
    expect(told).toEqual([['codex.third', 'codex.default']])
  })

  it('tells what is wrong, and of the correction', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until, seen } = await watched(home)
    await writeFile(join(home, 'config.yaml'), 'gateway: {port: x}')
    expect(await until(isFailure)).toMatchObject({ error: { code: 'CONFIG_INVALID' } })
    await writeFile(join(home, 'config.yaml'), port(1))
    await until(hasPort(1))
    expect(seen).toHaveLength(2)
  })

  it('takes a file that is gone as a mistake, and finds it when it is back', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until } = await watched(home)
    await unlink(join(home, 'config.yaml'))
    expect(await until(isFailure)).toMatchObject({ error: { message: expect.stringContaining('is gone') } })
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
  })

  it('finds a home that was replaced, or that was not there yet', async () => {
    const home = join(await temporaryFolder(), 'home')
    const { until } = await watched(home)
    await mkdir(home)
    await writeFile(join(home, 'config.yaml'), port(1))
    await until(hasPort(1))
    await rename(home, `${home}-old`)
    await mkdir(home)
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
    await rm(home, { recursive: true })
    await mkdir(home)
    await writeFile(join(home, 'config.yaml'), port(3))
    await until(hasPort(3))
  })

  it('ends with the last of many quick writes, and tells of few of them', async () => {
    const home = await createHome({ 'config.yaml': port(0) })
    const { until, seen } = await watched(home)
    for (let number = 1; number <= 200; number++) await writeFile(join(home, 'config.yaml'), port(number))
    await until(hasPort(200))
    expect(seen.length).toBeLessThan(200)
  })

  it('tells of what changed between the reading and the watching', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const current = await readHome(home)
    await writeFile(join(home, 'config.yaml'), port(2))
    const change = await new Promise<SettingsChange>((resolve) => {
      const watch = watchSettings({ home, environment: {}, current, onChange: resolve })
      onTestFinished(() => watch.close())
    })
    expect(hasPort(2)(change)).toBe(true)
  })

  it('says nothing when only other files change', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until, seen } = await watched(home)
    await writeFile(join(home, 'tools.yaml'), 'tools: {}')
    await writeFile(join(home, 'config.yaml'), port(1))
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
    expect(seen).toHaveLength(1)
  })

  it('leaves nothing behind when it is closed, even in the middle of things', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const before = await kernelWatches()
    const { close, seen } = await watched(home)
    await writeFile(join(home, 'config.yaml'), port(2))
    await close()
    await close()
    expect(seen).toEqual([])
    expect(await kernelWatches()).toBe(before)
  })
})

/** How many inotify watches this process holds; none are counted where there is no /proc. */
async function kernelWatches(): Promise<number> {
  const descriptors = await readdir('/proc/self/fdinfo').catch(() => [])
  const infos = await Promise.all(descriptors.map((fd) => readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => '')))
  return infos.join('\n').match(/^inotify wd:/gm)?.length ?? 0
}
