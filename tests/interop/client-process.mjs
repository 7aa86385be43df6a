/** A client program that is driven by commands. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export class ClientProcess {
  events = []
  #child
  #answers = new Map()
  #waiting = []
  #missing
  #next = 1
  #words = ''
  #prefix

  /** @param {{command: readonly string[], target: object, prefix: string}} options */
  constructor({ command, target, prefix }) {
    this.#prefix = prefix
    const [program, ...args] = [...command, JSON.stringify(target)]
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stderr.on('data', (text) => {
      this.#words = (this.#words + text).slice(-3_000)
    })
    this.#child.stdin.on('error', () => {})
    this.#child.once('error', (error) => this.#end(error.message))
    this.#child.once('exit', (code) => this.#end(`the client ended with ${code}: ${this.#words.trim()}`))
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#receive(line))
  }

  #receive(line) {
    if (!line.startsWith('{')) return
    const message = JSON.parse(line)
    if (message.event === undefined) return this.#answers.get(message.id)?.(message)
    this.events.push(message)
    for (const check of [...this.#waiting]) check()
  }

  #end(why) {
    this.ended = why
    for (const answer of this.#answers.values()) answer({ error: why })
    for (const check of [...this.#waiting]) check()
  }

  forget() {
    this.events = []
    this.#missing = undefined
  }

  /** What it waits for, and how much of it came. */
  get missing() {
    return this.#missing
  }

  /** Resolves with the events of a kind once there are so many. */
  waitFor(event, count = 1) {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = this.events.filter((one) => one.event === event)
        this.#missing = found.length < count ? `${found.length} of ${count} events “${event}”` : undefined
        if (found.length < count && !this.ended) return
        this.#waiting = this.#waiting.filter((one) => one !== check)
        if (found.length >= count) resolve(found)
        else reject(new Error(this.ended))
      }
      this.#waiting.push(check)
      check()
    })
  }

  /** @returns {{id: number, done: Promise<any>}} */
  start(verb, fields = {}) {
    const id = this.#next++
    const done = new Promise((resolve, reject) => {
      if (this.ended) return reject(new Error(this.ended))
      this.#answers.set(id, ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error))))
      this.#child.stdin.write(`${JSON.stringify({ id, do: verb, ...fields })}\n`)
    })
    done.catch(() => {})
    return { id, done }
  }

  ask(verb, fields) {
    return this.start(verb, fields).done
  }

  /** Calls a tool by the name that its server gave it. */
  call(tool, args = {}, fields = {}) {
    return this.ask('call', { name: this.named(tool), args, ...fields })
  }

  cancel(id) {
    this.#child.stdin.write(`${JSON.stringify({ do: 'cancel', of: id })}\n`)
  }

  named(own) {
    return this.#prefix + own
  }

  /** Those of the server, by its own names. */
  own(items) {
    return items
      .filter(({ name }) => name.startsWith(this.#prefix))
      .map((item) => ({ ...item, name: item.name.slice(this.#prefix.length) }))
  }

  async close() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.stdin.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000)
    await gone
    clearTimeout(timer)
  }
}
