import { spawn } from 'node:child_process'

type Environment = Readonly<Record<string, string | undefined>>

/** A program that runs containers. All use the options of Docker; here is what differs. */
export interface EngineKind {
  readonly name: 'docker' | 'podman'
  /** Further options of `create`. */
  readonly createOptions: readonly string[]
  /** Further options of a file system in memory. */
  readonly temporaryOptions: readonly string[]
  readonly install: string
}

export const DOCKER: EngineKind = {
  name: 'docker',
  createOptions: ['--ulimit', 'core=0:0'],
  temporaryOptions: [],
  install:
    'Install it: `apt-get install docker.io` on Debian and Ubuntu, or as https://docs.docker.com/engine/install/ says.',
}

export const PODMAN: EngineKind = {
  name: 'podman',
  // Otherwise further folders would be writable, and files in memory would begin as copies of those in the image. A limit
  // on core files would replace all limits of containers.conf, without which some machines cannot start containers.
  // `rm --force` would wait ten seconds for a first process that ignores SIGTERM.
  createOptions: ['--read-only-tmpfs=false', '--stop-timeout', '0'],
  temporaryOptions: ['notmpcopyup'],
  install: 'Install it: `apt-get install podman` on Debian and Ubuntu, `dnf install podman` on Fedora.',
}

/** What the programs read to find their engine and their images. */
const ENGINE_VARIABLES = [
  ...['PATH', 'HOME', 'TMPDIR', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME'],
  ...['DOCKER_API_VERSION', 'DOCKER_CERT_PATH', 'DOCKER_CONFIG', 'DOCKER_CONTEXT', 'DOCKER_HOST', 'DOCKER_TLS'],
  ...['DOCKER_TLS_VERIFY', 'CONTAINERS_CONF', 'CONTAINERS_STORAGE_CONF', 'STORAGE_DRIVER'],
] as const

/** The environment in which an engine's program runs. */
export function pickEngineEnvironment(environment: Environment): Record<string, string> {
  const found = ENGINE_VARIABLES.map((name) => [name, environment[name]] as const)
  return Object.fromEntries(found.filter((entry): entry is [(typeof entry)[0], string] => entry[1] !== undefined))
}

export interface EngineReply {
  /** `null`: it could not be started, or did not answer in time. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly input?: Buffer
  /** Variables for the program besides those of the engine. */
  readonly variables?: Readonly<Record<string, string>>
}

/** The engine is on this machine and downloads nothing, so it answers soon; a busy machine is slow. */
const TIMEOUT_MS = 60_000

/** One engine, through its command line. */
export class Engine {
  readonly kind: EngineKind
  readonly program: string
  readonly environment: Readonly<Record<string, string>>

  constructor(kind: EngineKind, program: string, environment: Environment) {
    this.kind = kind
    this.program = program
    this.environment = pickEngineEnvironment(environment)
  }

  /** Runs one command to its end. It does not throw. */
  run(args: readonly string[], { input, variables }: RunOptions = {}): Promise<EngineReply> {
    return new Promise((resolve) => {
      const child = spawn(this.program, args, {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...this.environment, ...variables },
        timeout: TIMEOUT_MS,
        killSignal: 'SIGKILL',
      })
      const output = { stdout: '', stderr: '' }
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text: string) => {
          output[name] += text
        })
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      child.once('error', (error) => resolve({ code: null, ...output, stderr: error.message }))
      child.once('close', (code) => resolve({ code, ...output }))
    })
  }
}
