import { spawn } from 'node:child_process'
import { createReply, resultOf } from './reply.mjs'
import { INITIALIZED, nextId, prepareInitialize, prepareRequest, printRequest } from './request.mjs'

const LINE_FEED = 10
const ID = /"id":(\d{7})/
/** The id is near the beginning of an answer, or near its end. */
const NEAR = 120

/** A caller over the stdin and stdout of a process that it starts. */
export class StdioClient {
  #era
  #child
  #waiting = new Map()
  #opened
  #ended
  #parts = []

  constructor([program, ...args], era, { env = {}, cwd = undefined } = {}) {
    this.#era = era
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, ...env }, cwd })
    this.#child.stdin.on('error', () => {})
    this.#child.once('error', (error) => this.#giveUp(error))
    this.#child.once('exit', (code) => this.#giveUp(new Error(`the process ended with ${code}`)))
    this.#child.stdout.on('data', (chunk) => this.#read(chunk))
  }

  get process() {
    return this.#child
  }

  /** Performs the handshake, once; the modern era has none. */
  async open() {
    if (this.#era === 'modern') return
    this.#opened ??= this.#initialize()
    await this.#opened
  }

  send(request) {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended)
      const id = nextId()
      this.#waiting.set(id, { resolve, reject })
      this.#child.stdin.write(`${printRequest(request.tail, id)}\n`)
    })
  }

  call(method, params) {
    return this.send(prepareRequest(this.#era, method, params))
  }

  /** The process ends when its input ends. */
  close() {
    this.#child.stdin.end()
  }

  async #initialize() {
    resultOf(await this.send(prepareInitialize()))
    this.#child.stdin.write(`${INITIALIZED}\n`)
  }

  #read(chunk) {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      this.#parts.push(chunk.subarray(from, at))
      from = at + 1
      const parts = this.#parts
      this.#parts = []
      this.#settle(parts)
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from))
  }

  #settle(parts) {
    const waiting = this.#take(idOf(parts))
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    waiting?.resolve(createReply({ status: 200, head: '', parts, bytes }))
  }

  #take(id) {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #giveUp(error) {
    this.#ended ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

function idOf(parts) {
  const begin = parts[0].subarray(0, NEAR).toString('latin1')
  const end = parts.at(-1).subarray(-NEAR).toString('latin1')
  return Number((ID.exec(begin) ?? ID.exec(end))?.[1])
}
