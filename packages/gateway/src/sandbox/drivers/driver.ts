import type { ChildProcess, StdioOptions } from 'node:child_process'
import type { HostAndPort } from '@sallyport/core'

/** A file or folder of this machine, and where it is in the sandbox. */
export interface Mount {
  /** Absolute, without symbolic links. */
  readonly host: string
  readonly guest: string
  readonly access: 'read' | 'write'
}

export interface SandboxLimits {
  /** Of the data of each process, and of all of them together where the driver can limit that; in bytes. */
  readonly memory: number
  /** Processes and threads together. */
  readonly processes: number
  /** Of the files in /tmp, which are in memory, in bytes. */
  readonly temporaryFiles: number
}

interface CommonSpec {
  readonly env: Readonly<Record<string, string>>
  readonly mounts: readonly Mount[]
  /** Folders inside mounts whose content must not be seen. */
  readonly hidden: readonly string[]
  /** Ports of 127.0.0.1 inside that lead to hosts outside, through the egress proxy. */
  readonly forwards?: readonly Forward[] | undefined
  readonly limits: SandboxLimits
}

/** What runs in a sandbox, and what it can see: a program of this machine. */
export interface SandboxSpec extends CommonSpec {
  /** Absolute, inside the sandbox. */
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The network of this machine instead of the egress proxy. Only for bubblewrap. */
  readonly hasHostNetwork?: boolean
}

/** Raw TCP from a port inside to a host, under the policy of the egress proxy. */
export interface Forward extends HostAndPort {
  readonly listen: number
}

/** What runs in a sandbox, and what it can see: the program of a container image. */
export interface ImageSpec extends CommonSpec {
  readonly image: string
  /** Instead of the program of the image. */
  readonly entrypoint: string | undefined
  readonly args: readonly string[]
  /** Absolute, inside the sandbox. `undefined`: that of the image. */
  readonly cwd: string | undefined
}

/** What every sandbox gets from us. */
export interface SandboxParts {
  /** The server that it is for. */
  readonly server: string
  /** The socket of its egress proxy. */
  readonly egressSocket: string
  /** A private folder, for files that the sandbox shows. It may be removed after `admit`. */
  readonly folder: string
}

/** A command line that creates a sandbox. The program in it waits until `admit`. */
export interface PreparedSandbox {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** For the descriptors after stderr. */
  readonly descriptors: Exclude<StdioOptions, string>
  /** With `pipe`, stdin must be one, and nothing may be written to it before `admit`. */
  readonly stdin?: 'pipe'
  /**
   * Checks from outside that the sandbox is what it should be, and only then lets the program start. If it is not,
   * nothing of it has run, and all of it is killed.
   */
  admit(child: ChildProcess): Promise<SandboxedProgram>
  /** Why the program ended, if a limit of the sandbox was the reason. Asked when the command has ended. */
  explainEnd?(): string | undefined
  /** Ends what was started besides that command, and what still runs inside. Resolves when nothing of it is alive. */
  close(): Promise<void>
}

export type ProbeResult = { readonly ok: true } | { readonly ok: false; readonly reason: string; readonly fix: string }

/** A way of isolating what a `Spec` describes. */
export interface SandboxDriver<Spec = SandboxSpec> {
  readonly name: string
  /** Whether it works here. Tried once if it does. */
  probe(): Promise<ProbeResult>
  /** Leaves nothing behind if it rejects. */
  prepare(spec: Spec, parts: SandboxParts): Promise<PreparedSandbox>
}

/** A running program in its sandbox. */
export interface SandboxedProgram {
  /** As this machine sees it. */
  readonly pid: number
  /** To the program; with `group`, also to what it started, as a terminal does. */
  signal(signal: NodeJS.Signals, target: 'program' | 'group'): void
  /** Kills everything inside. Resolves when nothing of it is alive. */
  stop(): Promise<void>
}
