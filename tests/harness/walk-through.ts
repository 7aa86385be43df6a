import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { eventually } from './processes.ts'

/** One block of commands of a page, and what the page says that it prints. */
export interface Step {
  readonly commands: string
  /** Goes on in a terminal of its own. */
  readonly isBackground: boolean
  readonly fails: boolean
  readonly shown: string | undefined
}

/** Blocks of `sh`, `sh background` and `sh fails`, each with the block of `text` that follows it. */
export function readSteps(page: string): readonly Step[] {
  const fences = page.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)
  const blocks = [...fences].map(([, info = '', text = '']) => ({ info, text }))
  return blocks.flatMap(({ info, text }, at) => {
    const [language, ...words] = info.split(' ')
    if (language !== 'sh') return []
    const next = blocks[at + 1]
    const shown = next?.info === 'text' ? next.text : undefined
    return [{ commands: text, isBackground: words.includes('background'), fails: words.includes('fails'), shown }]
  })
}

/** All of the output and nothing else. `…` stands for a piece of a line; alone on a line, for any lines. */
export function shownPattern(shown: string): RegExp {
  const patterns = shown
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*' : `${line.split('…').map(literal).join('.*')}\\n`))
  return new RegExp(`^${patterns.join('')}$`)
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

export interface Printed {
  readonly code: number
  readonly output: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** A shell, with what all that runs in it prints. It stays open from step to step, as that of a reader does. */
export class Terminal {
  readonly #shell: ChildProcess
  #output = ''

  constructor(cwd: string, environment: Environment) {
    // A group of its own, so that ending it ends what was started in it.
    this.#shell = spawn('bash', ['-c', 'exec bash 2>&1'], { cwd, env: environment, detached: true })
    this.#shell.stdout?.setEncoding('utf8').on('data', (text) => {
      this.#output += text
    })
  }

  get output(): string {
    return this.#output
  }

  /** Types commands and does not wait for their end. Standard input is not theirs. */
  type(commands: string): void {
    this.#shell.stdin?.write(`{ ${commands.trimEnd()}\n} </dev/null\n`)
  }

  async run(commands: string): Promise<Printed> {
    const before = this.#output.length
    this.type(commands)
    this.#shell.stdin?.write('echo "done:$?:"\n')
    const ended = /done:(\d+):\n$/
    const output = await eventually(
      () => this.#output.slice(before),
      (text) => ended.test(text),
      50_000,
    )
    return { code: Number(ended.exec(output)?.[1]), output: output.replace(ended, '') }
  }

  async close(): Promise<void> {
    const closed = once(this.#shell, 'close')
    try {
      process.kill(-(this.#shell.pid ?? 0), 'SIGTERM')
    } catch {
      // It is gone already.
    }
    this.#shell.stdin?.destroy()
    await closed
  }
}
