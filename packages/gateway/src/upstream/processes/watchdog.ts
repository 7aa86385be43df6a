import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { MARK_VARIABLE } from './process-mark.ts'

export interface WatchdogOptions {
  /** The mark of this run of the gateway, under which those of its servers stand. */
  readonly runMark: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** It died and was replaced, or there can be none. */
  readonly onWarning?: (text: string) => void
  readonly shell?: string
}

const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 30_000
/** One that lived so long did not die of a fault that the next would share. */
const HEALTHY_MS = 60_000
/** How long it may take to leave, without and with groups to end. */
const EXIT_TIMEOUT_MS = 1_000
const KILL_TIMEOUT_MS = 15_000

/** A small process that outlives us: however we die, it ends the servers we leave behind. */
export function openWatchdog(options: WatchdogOptions): Watchdog {
  return new Watchdog(options)
}

export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #groups = new Set<number>()
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

  /** Ends this process group should we die. */
  watch(group: number): void {
    this.#groups.add(group)
    this.#write(`+${group}\n`)
  }

  /** The group is gone: its number may soon be somebody else's. */
  release(group: number): void {
    if (this.#groups.delete(group)) this.#write(`-${group}\n`)
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
    // Were somebody to have stopped it, we would wait for ever.
    const patience = this.#groups.size === 0 ? EXIT_TIMEOUT_MS : KILL_TIMEOUT_MS
    const impatience = setTimeout(() => child.kill('SIGKILL'), patience)
    await exited
    clearTimeout(impatience)
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
      // A session of its own, so that Ctrl-C in our terminal does not reach it.
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
    // What could not be written is told to the next one.
    child.stdin?.on('error', () => {})
    child.unref()
    const pipe = child.stdin as Socket | null
    pipe?.unref()
    for (const group of this.#groups) this.#write(`+${group}\n`)
  }

  /** Should another gateway be above us, it has to find this process too. Our own mark it must not carry. */
  #environment(): Record<string, string> {
    const { PATH, [MARK_VARIABLE]: above } = this.#options.environment
    return { PATH: PATH ?? '/usr/bin:/bin', ...(above !== undefined && { [MARK_VARIABLE]: above }) }
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
 * What the watchdog runs: plain POSIX sh, which needs about a megabyte where a second node would need forty.
 *
 * `$1` is the run's mark. `+n` and `-n` on stdin register and release a process group, `.` announces an orderly end. When
 * stdin ends otherwise, the gateway was killed. Groups go first and with builtins only, since a server that filled the
 * process table leaves no room for a fork. Then all that shares a session with them, or carries the mark, until none is
 * left. Without a grep that reads NUL-ended lines (BusyBox) the environments are read by the shell itself.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT QUIT TERM
mark=$1
groups=' '
orderly=

while IFS= read -r line; do
  number=\${line#?}
  case $line in
    +*) groups="$groups$number " ;;
    -*) case $groups in *" $number "*) groups="\${groups%% $number *} \${groups#* $number }" ;; esac ;;
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
`
