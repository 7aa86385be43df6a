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
  /** Resolves to the first change that matches. */
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
  it('reports a file that was written in place', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until, seen } = await watched(home)
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
    expect(seen).toHaveLength(1)
  })

  it('reports a file that an editor replaced by renaming', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until } = await watched(home)
    for (const number of [2, 3]) {
      await writeFile(join(home, 'draft'), port(number))
      await rename(join(home, 'draft'), join(home, 'config.yaml'))
      await until(hasPort(number))
    }
  })

  it('reports a link with a new target, and a change of the file behind a link', async () => {
    const [home, a, b] = [await temporaryFolder(), await createHome({ c: port(1) }), await createHome({ c: port(2) })]
    await symlink(join(a, 'c'), join(home, 'config.yaml'))
    const { until } = await watched(home)
    await symlink(join(b, 'c'), join(home, 'next'))
    await rename(join(home, 'next'), join(home, 'config.yaml'))
    await until(hasPort(2))
    await writeFile(join(b, 'c'), port(3))
    await until(hasPort(3))
  })

  it('does not report profiles that were read before newer ones were applied', async () => {
    const executors = (variant: string): string => JSON.stringify({ executors: { CODEX: { [variant]: {} } } })
    const home = await createHome({ 'config.yaml': port(1), 'profiles.json': executors('FIRST') })
    let inForce: Profiles = new Map()
    // Called in the middle of a read, like a write through another interface.
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
    const reported = seen.map((change) => change.ok && [...change.loaded.settings.profiles.keys()])
    expect(reported).toEqual([['codex.third', 'codex.default']])
  })

  it('reports an error, and then the correction', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until, seen } = await watched(home)
    await writeFile(join(home, 'config.yaml'), 'gateway: {port: x}')
    expect(await until(isFailure)).toMatchObject({ error: { code: 'CONFIG_INVALID' } })
    await writeFile(join(home, 'config.yaml'), port(1))
    await until(hasPort(1))
    expect(seen).toHaveLength(2)
  })

  it('treats a missing file as an error, and finds it when it is back', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until } = await watched(home)
    await unlink(join(home, 'config.yaml'))
    expect(await until(isFailure)).toMatchObject({ error: { message: expect.stringContaining('is missing') } })
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
  })

  it('finds a home that was replaced, or that did not exist at first', async () => {
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

  it('reports the last of many quick writes, and few of the others', async () => {
    const home = await createHome({ 'config.yaml': port(0) })
    const { until, seen } = await watched(home)
    for (let number = 1; number <= 200; number++) await writeFile(join(home, 'config.yaml'), port(number))
    await until(hasPort(200))
    expect(seen.length).toBeLessThan(200)
  })

  it('reports a change between the read and the start of the watch', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const current = await readHome(home)
    await writeFile(join(home, 'config.yaml'), port(2))
    const change = await new Promise<SettingsChange>((resolve) => {
      const watch = watchSettings({ home, environment: {}, current, onChange: resolve })
      onTestFinished(() => watch.close())
    })
    expect(hasPort(2)(change)).toBe(true)
  })

  it('reports nothing if only other files change', async () => {
    const home = await createHome({ 'config.yaml': port(1) })
    const { until, seen } = await watched(home)
    await writeFile(join(home, 'tools.yaml'), 'tools: {}')
    await writeFile(join(home, 'config.yaml'), port(1))
    await writeFile(join(home, 'config.yaml'), port(2))
    await until(hasPort(2))
    expect(seen).toHaveLength(1)
  })

  it('releases everything when it is closed, even during a read', async () => {
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

/** The number of inotify watches of this process; 0 if there is no /proc. */
async function kernelWatches(): Promise<number> {
  const descriptors = await readdir('/proc/self/fdinfo').catch(() => [])
  const infos = await Promise.all(descriptors.map((fd) => readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => '')))
  return infos.join('\n').match(/^inotify wd:/gm)?.length ?? 0
}
