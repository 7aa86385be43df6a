import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { MARK_VARIABLE } from './process-mark.ts'

export interface WatchdogOptions {
  /** The mark of this run of the gateway; the marks of its servers are below it. */
  readonly runMark: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** For the programs of container engines. */
  readonly engineEnvironment?: Readonly<Record<string, string>>
  /** It died and was replaced, or it cannot be started. */
  readonly onWarning?: (text: string) => void
  readonly shell?: string
}

const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 30_000
/** A watchdog that lived this long did not die of a fault that the next one would share. */
const HEALTHY_MS = 60_000
/** How long it may take to exit, without and with groups to end. */
const EXIT_TIMEOUT_MS = 1_000
const KILL_TIMEOUT_MS = 15_000

/** A small process that outlives us: however we die, it ends the servers that we leave behind. */
export function openWatchdog(options: WatchdogOptions): Watchdog {
  return new Watchdog(options)
}

export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #groups = new Set<number>()
  readonly #engines = new Set<string>()
  #child: ChildProcess | undefined
  #failures = 0
  #startedAt = 0
  #retry: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#start()
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Ends this process group if we die. */
  watch(group: number): void {
    this.#groups.add(group)
    this.#write(`+${group}\n`)
  }

  /** The group is gone: another process may soon get its number. */
  release(group: number): void {
    if (this.#groups.delete(group)) this.#write(`-${group}\n`)
  }

  /** Removes the containers of this run by this program (docker, podman) if we die. */
  watchContainers(program: string): void {
    this.#engines.add(program)
    this.#write(`=${program}\n`)
  }

  /** Groups that are still watched are ended. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.ref()
    child.stdin?.end('.\n')
    // If somebody has suspended it, we would otherwise wait forever.
    const timeoutMs = this.#groups.size === 0 ? EXIT_TIMEOUT_MS : KILL_TIMEOUT_MS
    const killTimer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    await exited
    clearTimeout(killTimer)
  }

  #start(): void {
    this.#startedAt = performance.now()
    try {
      this.#attach(this.#spawn())
    } catch (error) {
      this.#onExit(undefined, (error as Error).message)
    }
  }

  #spawn(): ChildProcess {
    const { shell = '/bin/sh', runMark } = this.#options
    return spawn(shell, ['-c', WATCHDOG_SCRIPT, 'sallyport-watchdog', runMark], {
      // In its own session, so that Ctrl-C in our terminal does not reach it.
      detached: true,
      cwd: '/',
      env: this.#environment(),
      stdio: ['pipe', 'ignore', 'ignore'],
    })
  }

  #attach(child: ChildProcess): void {
    this.#child = child
    child.once('exit', (code, signal) => this.#onExit(child, signal ?? `code ${code}`))
    child.once('error', (error) => this.#onExit(child, error.message))
    // The next watchdog gets what could not be written.
    child.stdin?.on('error', () => {})
    child.unref()
    const pipe = child.stdin as Socket | null
    pipe?.unref()
    for (const group of this.#groups) this.#write(`+${group}\n`)
    for (const program of this.#engines) this.#write(`=${program}\n`)
  }

  /** A gateway above us must find this process too. But it must not have our own mark. */
  #environment(): Record<string, string> {
    const { PATH, [MARK_VARIABLE]: above } = this.#options.environment
    return {
      ...this.#options.engineEnvironment,
      PATH: PATH ?? '/usr/bin:/bin',
      ...(above !== undefined && { [MARK_VARIABLE]: above }),
    }
  }

  #write(line: string): void {
    const pipe = this.#child?.stdin
    if (pipe?.writable) pipe.write(line)
  }

  #onExit(child: ChildProcess | undefined, how: string): void {
    if (this.#closed || this.#child !== child) return
    this.#child = undefined
    const lived = performance.now() - this.#startedAt
    this.#failures = lived > HEALTHY_MS ? 1 : this.#failures + 1
    if (this.#failures === 1) this.#start()
    else this.#startLater()
    this.#options.onWarning?.(
      `The watchdog ended (${how}); ${this.#child ? 'a new one took over' : 'it will be started again'}.`,
    )
  }

  #startLater(): void {
    this.#retry = setTimeout(() => this.#start(), Math.min(MIN_RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS))
    this.#retry.unref()
  }
}

/**
 * What the watchdog runs: plain POSIX sh, which needs about one megabyte; a second node would need forty. `$1` is the
 * mark of the run. On stdin, `+n` and `-n` register and release a process group, `=program` names a program that lists
 * and removes containers as docker does, and `.` announces an orderly end. If
 * stdin ends without it, the gateway was killed. Groups are killed first and with builtins only, since a server that
 * filled the process table leaves no room for a fork. Then everything is killed that shares a session with them or has
 * the mark, until nothing is left. If grep cannot read NUL-terminated lines (BusyBox), the shell itself reads the
 * environments.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT QUIT TERM
mark=$1
groups=' '
orderly=
engine_count=0

while IFS= read -r line; do
  number=\${line#?}
  case $line in
    +*) groups="$groups$number " ;;
    -*) case $groups in *" $number "*) groups="\${groups%% $number *} \${groups#* $number }" ;; esac ;;
    =*) engine_count=$((engine_count + 1)); eval "engine_$engine_count=\\$number" ;;
    .) orderly=1 ;;
  esac
done
[ -n "$orderly" ] && [ "$groups" = ' ' ] && exit 0

in_session() {
  IFS= read -r stat < "/proc/$1/stat" || return 1
  set -- \${stat##*) }
  [ "$1" = Z ] && return 1
  case $groups in *" $4 "*) return 0 ;; esac
  return 1
}

is_marked() {
  while IFS= read -r text || [ -n "$text" ]; do
    case $text in *"$mark."*) return 0 ;; esac
  done < "/proc/$1/environ"
  return 1
}

strike() {
  [ "$1" = "$$" ] && return
  kill -9 "$1" && found=1
}

strike_marked() {
  if printf 'a\\0b' | grep -qz '^b'; then
    for file in $(grep -lsze "^SALLYPORT_MARK=$mark[.]" -e "^SALLYPORT_MARK=.* $mark[.]" /proc/[0-9]*/environ); do
      file=\${file%/environ}
      strike "\${file#/proc/}"
    done
    return
  fi
  for file in /proc/[0-9]*; do
    pid=\${file#/proc/}
    is_marked "$pid" && strike "$pid"
  done
}

round=0
found=1
while [ -n "$found" ] && [ "$round" -lt 50 ]; do
  round=$((round + 1))
  found=
  for group in $groups; do kill -9 -- "-$group"; done
  for file in /proc/[0-9]*; do
    pid=\${file#/proc/}
    in_session "$pid" && strike "$pid"
  done
  strike_marked
  [ -z "$found" ] || sleep 0.05 || sleep 1
done

# Killing the program of an engine does not end its containers. One that was being created may appear a little later.
remove_containers() {
  empty=0
  round=0
  while [ "$empty" -lt 2 ] && [ "$round" -lt 50 ]; do
    round=$((round + 1))
    ids=$("$1" ps --all --quiet --filter "label=sallyport.run=$mark") || return
    [ -n "$ids" ] && empty=0 || empty=$((empty + 1))
    for id in $ids; do "$1" rm --force --volumes "$id" & done
    wait
    [ "$empty" -gt 1 ] || sleep 0.2 || sleep 1
  done
}

while [ "$engine_count" -gt 0 ]; do
  eval "engine=\\$engine_$engine_count"
  remove_containers "$engine" &
  engine_count=$((engine_count - 1))
done
wait
`
