// A separate process that uses the built store, which tests kill or limit: node store-child.test-kit.mjs <job> <state>
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { replaceFile } from '../../dist/disk/disk.js'
import { lockState, openStore } from '../../dist/store/store.js'

const [job, state] = process.argv.slice(2)
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
const event = (text) => ({ type: 'CONFIG_REJECTED', message: text })

const jobs = {
  /** Appends forever, and prints each number only once its record is written. */
  write() {
    const store = openStore({ state, durability: 'process', segmentBytes: 20_000 })
    let last = 0
    store.log.watch(({ seq }) => {
      last = seq
    })
    const burst = () => {
      for (let count = 0; count < 50; count++) {
        store.log.append(event('x'.repeat((last * 37) % 900)))
        say(last)
      }
      store.find({ limit: 1 })
      setImmediate(burst)
    }
    burst()
  },

  /** Appends forever, and removes the oldest files meanwhile. */
  trim() {
    const retention = { age: 1e12, bytes: 100_000 }
    const { log } = openStore({ state, durability: 'process', retention })
    let last = 0
    log.watch(({ seq }) => {
      last = seq
    })
    const burst = async () => {
      const texts = Array.from({ length: 20 }, (_, at) => 'x'.repeat((at * 97) % 900))
      await Promise.all(texts.map((text) => log.appendSoon(event(text))))
      say(last)
      setImmediate(burst)
    }
    void burst()
  },

  /** Appends until the disk or a limit refuses, waits for a line, and continues. */
  fill() {
    const store = openStore({ state, durability: 'process' })
    let appended = 0
    try {
      for (;;) {
        store.log.append(event('x'.repeat(500)))
        appended++
      }
    } catch (error) {
      say({ appended, code: error.code, hint: error.hint })
    }
    process.stdin.once('data', async () => {
      store.log.append(event('again'))
      await store.close()
      say('closed')
      process.exit(0)
    })
  },

  /** Writes three records together; the second is larger than a file may be. */
  async gather() {
    const { log } = openStore({ state, durability: 'process' })
    const texts = ['before', 'x'.repeat(600_000), 'after']
    const outcomes = await Promise.all(texts.map((text) => log.appendSoon(event(text))))
    say(outcomes.map((failure) => failure?.code ?? 'written'))
  },

  async lock() {
    const lock = await lockState(state, { version: '1.2.3', home: '/home' })
    say(lock.held ? { held: true, holder: lock.holder ?? null } : { held: false })
    process.stdin.resume().once('end', () => {
      if (!lock.held) lock.release()
    })
  },

  /** Loads everything first, so that two processes that start together race for the lock itself. */
  race() {
    say('ready')
    process.stdin.once('data', async () => {
      say((await lockState(state, { version: '1.2.3', home: '/home' })).held)
      setInterval(() => undefined, 60_000)
    })
  },

  /** Holds the state and has a child, which survives when the holder is killed. */
  async parent() {
    const lock = await lockState(state, { version: '1.2.3', home: '/home' })
    const heir = spawn('sleep', ['600'], { stdio: 'ignore' })
    heir.once('spawn', () => say({ held: lock.held, heir: heir.pid }))
  },

  async replace() {
    const path = `${state}/file.json`
    for (let count = 0; ; count++) {
      await replaceFile(path, JSON.stringify({ count, text: 'y'.repeat(10_000 + (count % 7) * 5_000) }))
      say(count)
    }
  },
}

await jobs[job]()
