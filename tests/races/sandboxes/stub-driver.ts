import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type {
  PreparedSandbox,
  SandboxDriver,
  SandboxedProgram,
  SandboxParts,
  SandboxSpec,
} from '../../../packages/gateway/src/sandbox/drivers/driver.ts'
import { LeakingServer } from '../../fixtures/leaking-server.mjs'
import { Random, readSeed } from '../random.ts'

/**
 * Sandboxes without isolation: their programs are in the process of the test, so that thousands are cheap and the test
 * can let them send at any moment. Everything else is the gateway's own: a process with pipes, the proxy, the labels.
 */
export class StubDriver implements SandboxDriver {
  readonly name = 'bubblewrap'
  readonly programs = new Set<LeakingServer>()
  readonly #random = new Random(readSeed())
  #count = 0
  readonly #folder = mkdtempSync(join(tmpdir(), 'sallyport-stub-'))

  async probe(): Promise<{ readonly ok: true }> {
    return { ok: true }
  }

  async prepare(spec: SandboxSpec, { egressSocket }: SandboxParts): Promise<PreparedSandbox> {
    await this.#pause()
    const path = (name: string): string => join(this.#folder, `${this.#count}-${name}`)
    this.#count++
    // As a mount does, it outlives the folder of the sandbox.
    const [egress, pipe] = [path('egress'), path('pipe')]
    linkSync(egressSocket, egress)
    const openProxy = spec.hasHostNetwork ? undefined : () => connect(egress)
    const program = new LeakingServer(spec.args.at(-1) ?? '', openProxy)
    const server = createServer((socket) => {
      serve(program, socket)
      if (!spec.hasHostNetwork) socket.once('close', () => program.close())
    })
    await once(server.listen(pipe), 'listening')
    this.programs.add(program)
    return {
      ...{ command: '/usr/bin/socat', args: ['-', `UNIX-CONNECT:${pipe}`], env: {}, descriptors: [] },
      admit: (child) => this.#admit(child, { program, spec }),
      close: async () => {
        program.close()
        this.programs.delete(program)
        await once(server.close(), 'close')
        rmSync(egress)
      },
    }
  }

  close(): void {
    rmSync(this.#folder, { recursive: true })
  }

  /** A label may rise while a sandbox starts. */
  async #admit(child: ChildProcess, { program, spec }: StubProgram): Promise<SandboxedProgram> {
    await this.#pause()
    const exited = once(child, 'exit')
    return {
      pid: child.pid ?? 0,
      signal: (signal) => void child.kill(signal),
      stop: async () => {
        child.kill('SIGKILL')
        // With the network of this machine it goes on for as long as it can.
        if (spec.hasHostNetwork) await delay(this.#random.between(1, 600))
        program.close()
        if (child.exitCode === null && child.signalCode === null) await exited
      },
    }
  }

  async #pause(): Promise<void> {
    if (this.#random.happens(0.3)) await delay(this.#random.between(1, 8))
    for (let turns = this.#random.between(0, 5); turns > 0; turns--) await turn()
  }
}

interface StubProgram {
  readonly program: LeakingServer
  readonly spec: SandboxSpec
}

function serve(program: LeakingServer, socket: Socket): void {
  socket.on('error', () => socket.destroy())
  createInterface({ input: socket }).on('line', async (line) => {
    const answer = await program.answer(line)
    if (answer !== undefined && socket.writable) socket.write(`${JSON.stringify(answer)}\n`)
  })
}
