import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './debian-packages.ts'
import { type CommandOptions, type Outcome, runCommand } from './run-command.ts'

/** Whether system calls can be traced here: strace is installed and allowed. */
export function canTrace(): boolean {
  if (works()) return true
  installPackages(['strace'])
  return works()
}

const works = (): boolean => spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0

/** All system calls that can read, change or remove a file by its name. */
const CALLS = 'trace=%file'
/** Those of them that only read. */
const LOOKS = /^(?:access|faccessat2?|stat|lstat|newfstatat|statx|readlink|readlinkat|statfs|getcwd|chdir|execve)\(/
const WRITES = /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND/

export interface Touches {
  readonly outcome: Outcome
  /** The files below the folder that were opened for reading. */
  readonly read: readonly string[]
  /** Every other call that concerns something below it, as it was made. */
  readonly changes: readonly string[]
}

/** Runs a command and everything that it starts under strace, and reports what it did with the files below a folder. */
export async function traceFiles(args: readonly string[], folder: string, options: CommandOptions): Promise<Touches> {
  const scratch = mkdtempSync(join(tmpdir(), 'sallyport-trace-'))
  try {
    // One log for each thread: in a common one calls are torn apart.
    const through = ['strace', '-ff', '-qq', '-s', '4096', '-e', CALLS, '-o', join(scratch, 'log')]
    const outcome = await runCommand(args, { ...options, through })
    const logs = readdirSync(scratch).map((name) => readFileSync(join(scratch, name), 'utf8'))
    return { outcome, ...touchesIn(logs.join('\n'), folder) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function touchesIn(log: string, folder: string): Omit<Touches, 'outcome'> {
  const calls = log.split('\n').filter((call) => call.includes(`"${folder}/`) && !LOOKS.test(call))
  const isRead = (call: string): boolean => /^open(?:at2?)?\(/.test(call) && !WRITES.test(call)
  const pathOf = (call: string): string => /"([^"]+)"/.exec(call)?.[1] ?? ''
  return { read: calls.filter(isRead).map(pathOf), changes: calls.filter((call) => !isRead(call)) }
}
