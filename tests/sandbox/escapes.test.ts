import { once } from 'node:events'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { canSandbox, makeUserFolder, probe, run, type Start, sandboxed, USERS } from './sandbox-world.ts'

const AVAILABLE = canSandbox()

/** Each attempt succeeds outside, so that a sandbox that prevents nothing would be noticed. */
describe.skipIf(!AVAILABLE).each(USERS)(`from a sandbox of %s (${promise('SEN-13')})`, (user) => {
  const folder = makeUserFolder(user)
  const workspace = join(folder.path, 'workspace')
  const secret = join(folder.path, 'secret')
  const servers: Server[] = []
  const options: Start = { user, folder: folder.path, cwd: workspace }
  const outside = (words: readonly string[], more: Partial<Start> = {}) => attempt(probe(...words), more)
  const inside = (words: readonly string[], more: Partial<Start> = {}, flags: readonly string[] = []) =>
    attempt(sandboxed(['--workspace', workspace, '--mode', 'FULL', ...flags], probe(...words)), more)
  const attempt = async (command: readonly string[], more: Partial<Start>) => {
    const { stdout, stderr } = await run(command, { ...options, ...more })
    return stdout.trim() || stderr
  }
  const listen = async (options: {
    readonly port?: number
    readonly path?: string
    readonly host?: string
    readonly writableAll?: boolean
  }) => {
    const server = createServer((socket) => socket.destroy()).listen(options)
    servers.push(server)
    await once(server, 'listening')
    return server.address()
  }

  beforeAll(() => {
    mkdirSync(workspace)
    writeFileSync(secret, 'secret')
  })
  afterAll(() => {
    for (const server of servers) server.close()
    folder.remove()
  })

  it('no port of this machine is reached', async () => {
    const v4 = (await listen({ port: 0, host: '127.0.0.1' })) as { readonly port: number }
    const v6 = (await listen({ port: 0, host: '::1' })) as { readonly port: number }
    expect(await outside(['tcp', '127.0.0.1', `${v4.port}`])).toBe('yes')
    expect(await inside(['tcp', '127.0.0.1', `${v4.port}`])).toBe('no ECONNREFUSED')
    expect(await outside(['tcp', '::1', `${v6.port}`])).toBe('yes')
    expect(await inside(['tcp', '::1', `${v6.port}`])).toBe('no ECONNREFUSED')
  })

  it('no unix socket of this machine is reached, by its path or by an abstract name', async () => {
    const path = join(folder.path, 'docker.sock')
    await listen({ path, writableAll: true })
    const name = `sallyport-test-${process.pid}-${user.length}`
    await listen({ path: `\0${name}` })
    expect(await outside(['unix', path])).toBe('yes')
    expect(await inside(['unix', path])).toBe('no ENOENT')
    expect(await outside(['unix', `@${name}`])).toBe('yes')
    expect(await inside(['unix', `@${name}`])).toBe('no ECONNREFUSED')
  })

  it('no file is read that was not named', async () => {
    const files = [secret, '/etc/shells', ...(user === 'root' ? ['/etc/shadow'] : [])]
    const folders = [folder.path, '/home', '/var/log', '/boot', ...(user === 'root' ? ['/root'] : [])]
    for (const words of [...files.map((path) => ['read', path]), ...folders.map((path) => ['list', path])]) {
      expect(await outside(words), words.join(' ')).toBe('yes')
      expect(await inside(words), words.join(' ')).toBe('no ENOENT')
    }
  })

  it('a link in the workspace leads only to what is inside', async () => {
    const link = join(workspace, 'link')
    symlinkSync(secret, link)
    expect(await outside(['read', link])).toBe('yes')
    expect(await inside(['read', '/workspace/link'])).toBe('no ENOENT')
  })

  it('no descriptor is inherited', async () => {
    const through = ['bash', '-c', 'exec 200<"$0"; exec "$@"', secret]
    expect(await outside(['descriptor', '200'], { through })).toBe('yes')
    expect(await inside(['descriptor', '200'], { through })).toBe('no EMPTY')
  })

  it('nothing outside is written', async () => {
    const own = join(folder.path, 'own')
    mkdirSync(own, { recursive: true })
    writeFileSync(
      join(own, 'server.mjs'),
      `import { writeFileSync } from 'node:fs'\ntry { writeFileSync(new URL('new', import.meta.url), '') } catch ({ code }) { console.log(code) }\n`,
    )
    const server = ['node', join(own, 'server.mjs')]
    expect((await run(sandboxed([], server), options)).stdout).toBe('EROFS\n')
    expect(await inside(['create', '/usr/new'])).toMatch(/^no (EROFS|EACCES)$/)
    expect(await inside(['create', '/new'])).toMatch(/^no (EROFS|EACCES)$/)
    expect(await inside(['create', '/etc/new'])).toMatch(/^no (EROFS|EACCES)$/)
    rmSync(own, { recursive: true })
  })

  it('the settings of the kernel cannot be opened for writing', async () => {
    const paths = ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/sys/kernel/hostname']
    for (const path of paths) {
      if (user === 'root') expect(await outside(['open', path]), path).toMatch(/^yes$|^no ENOENT$/)
      expect(await inside(['open', path]), path).toMatch(/^no (EROFS|EACCES|ENOENT)$/)
    }
  })

  it('no process outside is seen or signalled', async () => {
    expect(await outside(['list', `/proc/${process.pid}`])).toBe('yes')
    expect(await inside(['list', `/proc/${process.pid}`])).toBe('no ENOENT')
    if (user === 'root') expect(await outside(['signal', `${process.pid}`])).toBe('yes')
    expect(await inside(['signal', `${process.pid}`])).toBe('no ESRCH')
  })

  it('no further namespace is created, and nothing is mounted', async () => {
    expect(await outside(['run', 'unshare', '--user', '--map-root-user', 'true'])).toBe('yes')
    expect(await inside(['run', 'unshare', '--user', 'true'])).toMatch(/Operation not permitted/)
    const mount = ['mount', '-t', 'tmpfs', 'none', '/tmp']
    expect(await outside(['run', 'unshare', '--user', '--map-root-user', '--mount', ...mount])).toBe('yes')
    expect(await inside(['run', ...mount])).toMatch(/^no /)
    expect(await inside(['run', 'mount', '-o', 'remount,rw', '/usr'])).toMatch(/^no /)
  })

  // The numbers below are those of one architecture.
  const itOnX64 = process.arch === 'x64' ? it : () => {}
  itOnX64('what no ordinary program asks of the kernel is refused', async () => {
    const calls = {
      ...{ vsock: [41, 40, 1, 0], alg: [41, 38, 5, 0], packet: [41, 17, 3, 0], netfilter: [41, 16, 3, 12] },
      ...{ keyctl: [250, 0, -3, 0], ptrace: [101, 0, 0, 0, 0], uring: [425, 0, 0], bpf: [321, 0, 0, 0] },
      ...{ unshare: [272, 0x10000000], clone: [56, 0x10000011, 0, 0, 0, 0], clone3: [435, 0, 0], fsopen: [430, 0, 0] },
      ...{ unix: [41, 1, 1, 0], inet: [41, 2, 1, 0], inet6: [41, 10, 2, 0], route: [41, 16, 3, 0] },
    }
    const script = (names: readonly string[]): readonly string[] => {
      const lines = Object.entries(calls).map(([name, numbers]) =>
        names.includes(name)
          ? `$r = syscall(${numbers.join(', ')}); print "${name}=", ($r < 0 ? $!+0 : "yes"), " ";`
          : '',
      )
      return ['perl', '-e', lines.join('\n')]
    }
    const ask = async (command: readonly string[]) => (await run(command, options)).stdout
    // Some of the others would stop the program, or go on in a second one.
    expect(await ask(script(['keyctl']))).toBe('keyctl=yes ')
    expect(await ask(sandboxed([], script(Object.keys(calls))))).toBe(
      'vsock=97 alg=97 packet=97 netfilter=97 keyctl=1 ptrace=1 uring=38 bpf=1 unshare=1 clone=1 clone3=38 fsopen=1 unix=yes inet=yes inet6=yes route=yes ',
    )
    // A call of another kind has other numbers: 39 of x32 is getpid.
    const foreign = ['perl', '-e', `print syscall(${0x40000000 + 39})`]
    expect(await run(sandboxed([], foreign), options)).toMatchObject({ code: 128 + 31, stdout: '' })
  })

  /** Those of the commands that succeed inside, all tried in one sandbox. */
  const succeeding = async (commands: readonly string[]): Promise<readonly string[]> => {
    const script = commands.map((command) => `(${command}) >/dev/null 2>&1 && echo '${command}'`).join('\n')
    const { stdout } = await run(sandboxed(['--mode', 'FULL'], ['bash', '-c', `${script}\necho done`]), options)
    const lines = stdout.trim().split('\n')
    expect(lines.pop()).toBe('done')
    return lines
  }

  it('nothing is told about the memory, the timers and the keys of the machine', async () => {
    const files = ['slabinfo', 'timer_list', 'keys', 'kpagecount', 'kallsyms', 'vmallocinfo'].map(
      (name) => `/proc/${name}`,
    )
    if (user === 'root') expect(await outside(['read', '/proc/slabinfo'])).toBe('yes')
    expect(await succeeding(files.map((path) => `head -c 1 ${path} | grep -q .`))).toEqual([])
  })

  it('no privilege is left, and none is regained', async () => {
    const { stdout } = await run(sandboxed([], ['setpriv', '--dump']), options)
    expect(stdout).toMatch(/^no_new_privs: 1$/m)
    for (const set of ['Inheritable capabilities', 'Ambient capabilities', 'Capability bounding set'])
      expect(stdout).toMatch(new RegExp(`^${set}: \\[none\\]$`, 'm'))
    if (user === 'root') expect(await outside(['run', 'setpriv', '--reuid=0', 'true'])).toBe('yes')
    const commands = [
      ...['su --command true', 'setpriv --reuid=0 true', 'chroot / true', 'mknod /tmp/device c 1 1', 'swapon /tmp'],
      ...[
        'losetup --find',
        'dmesg',
        'umount /proc/sys',
        'mount --bind /tmp /usr',
        'echo 1 >/proc/self/oom_score_adj && echo -1000 >/proc/self/oom_score_adj',
      ],
    ]
    expect(await succeeding([...commands, 'true'])).toEqual(['true'])
  })

  it('no namespace is entered, not even that of the first process inside', async () => {
    const kinds = ['net', 'mount', 'user', 'pid', 'cgroup']
    const commands = kinds.flatMap((kind) => [1, process.pid].map((pid) => `nsenter --target ${pid} --${kind} true`))
    if (user === 'root')
      expect(await outside(['run', 'nsenter', '--target', `${process.pid}`, '--net', 'true'])).toBe('yes')
    expect(await succeeding(commands)).toEqual([])
  })

  it('folders in memory are full at their limit', async () => {
    const fill = (path: string, bytes: number): string => `fallocate --length ${bytes} ${path}`
    const fitting = fill('/tmp/file', 2 ** 20)
    const commands = [fitting, fill('/tmp/file', 2 ** 30 + 4096), fill('/dev/shm/file', 2 ** 28 + 4096)]
    expect(await succeeding([...commands, fill('/workspace/file', 2 ** 30 + 4096)])).toEqual([fitting])
  })

  it('there is no terminal to type into', async () => {
    const through = ['script', '-qec']
    const quote = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ')
    const inTerminal = async (command: readonly string[]) =>
      (await run([...through, quote(command), '/dev/null'], options)).stdout.trim()
    expect(await inTerminal(probe('open', '/dev/tty'))).toBe('yes')
    expect(await inTerminal(sandboxed([], probe('open', '/dev/tty')))).toBe('no ENXIO')
  })

  it('the bridge and the socket behind it lead to the same proxy, and nowhere without it', async () => {
    const script = [
      'ask() { curl -s -o /dev/null -w "%{http_code} " --proxytunnel "$@" https://192.0.2.1/; }',
      'ask; kill -9 $(pidof socat); ask; echo',
      'printf "CONNECT 192.0.2.1:443 HTTP/1.1\\r\\n\\r\\n" | socat - UNIX-CONNECT:/run/sallyport/egress.sock | head -1',
    ].join('\n')
    const { stdout } = await run(sandboxed(['--mode', 'NONE'], ['bash', '-c', script]), options)
    expect(stdout).toMatch(/^000 000 \nHTTP\/1.1 403 /)
  })

  it('memory, processes and temporary files are limited', async () => {
    const script = 'cat /proc/self/limits; df --output=size -B1 /tmp /dev/shm'
    const { stdout } = await run(sandboxed([], ['sh', '-c', script]), options)
    expect(stdout).toMatch(/^Max processes\s+(\d+)\s+\1/m)
    expect(stdout).toMatch(/^Max data size\s+4294967296\s+4294967296/m)
    expect(stdout).toMatch(/^\s*1073741824\s+268435456\s*$/m)
  })

  // A limit of each process, which the kernel does not apply to root; groups have tests of their own.
  const itOfUser = user === 'root' ? () => {} : it
  itOfUser('a fork bomb ends at the limit', async () => {
    const bomb = `for (let i = 0; i < 3000; i++) {
      if (require('node:child_process').spawn('sleep', ['100']).on('error', () => {}).pid !== undefined) continue
      console.log('ended after', i > 100)
      process.exit()
    }`
    const { stdout } = await run(sandboxed([], [process.execPath, '-e', bomb]), options)
    expect(stdout).toBe('ended after true\n')
  })

  it('no other user variable or home folder is seen', async () => {
    const { stdout } = await run(sandboxed(['--env', 'GIVEN'], ['sh', '-c', 'env; ls -A ~']), {
      ...options,
      env: { GIVEN: 'given', HIDDEN: 'hidden' },
    })
    expect(stdout).toContain('GIVEN=given')
    expect(stdout).not.toContain('hidden')
    expect(stdout).not.toContain(`${folder.path}\n`)
  })
})
