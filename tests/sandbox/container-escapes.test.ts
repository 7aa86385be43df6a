import { once } from 'node:events'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canRunDocker, type DockerEngine, startDocker } from '../harness/container-engine.ts'
import type { Outcome } from '../harness/run-command.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { makeUserFolder, probe, run, type Start } from './sandbox-world.ts'

const AVAILABLE = canRunDocker()
const FIXTURE = join(REPOSITORY, 'tests/fixtures/run-in-container.mjs')

/** Most attempts succeed outside, so that a container that prevents nothing would be noticed. */
describe.skipIf(!AVAILABLE)(`from a container of Docker (${promise('SEN-16')}, ${promise('SEN-13')})`, () => {
  const folder = makeUserFolder('root')
  const secret = join(folder.path, 'secret')
  const workspace = join(folder.path, 'workspace')
  const servers: Server[] = []
  let engine: DockerEngine

  beforeAll(async () => {
    engine = await startDocker()
    writeFileSync(secret, 'secret')
    mkdirSync(workspace, { mode: 0o777 })
  })
  afterAll(async () => {
    for (const server of servers) server.close()
    const left = engine.containers()
    await engine.close()
    folder.remove()
    expect(left).toEqual([])
  })

  const options = (more: Partial<Start> = {}): Start => ({
    ...{ user: 'root', folder: folder.path, env: engine.env },
    ...more,
  })
  const outside = async (command: readonly string[], more?: Partial<Start>): Promise<string> => {
    const { stdout, stderr } = await run(command, options(more))
    return stdout.trim() || stderr.trim()
  }
  const runInside = (command: readonly string[], settings: object = {}, more?: Partial<Start>): Promise<Outcome> => {
    const all = { state: folder.path, mode: 'FULL', mounts: [`${workspace}:/workspace:rw`], ...settings }
    return run([process.execPath, FIXTURE, JSON.stringify(all), ...command], options(more))
  }
  const inside = async (command: readonly string[], more?: Partial<Start>): Promise<string> => {
    const { stdout, stderr } = await runInside(command, {}, more)
    return stdout.trim() || stderr.trim()
  }
  /** Those of the commands that succeed inside, all tried in one container. */
  const succeeding = async (commands: readonly string[], settings: object = {}): Promise<readonly string[]> => {
    const script = commands.map((command) => `(${command}) >/dev/null 2>&1 && echo '${command}'`).join('\n')
    const { stdout, stderr } = await runInside(['bash', '-c', `${script}\necho done`], settings)
    const lines = stdout.trim().split('\n')
    expect(lines.pop(), stderr).toBe('done')
    return lines
  }
  const listen = async (path: string): Promise<void> => {
    const server = createServer((socket) => socket.destroy()).listen(path)
    servers.push(server)
    await once(server, 'listening')
  }

  it('no file, folder or socket of this machine is reached that was not named', async () => {
    const socket = join(folder.path, 'host.sock')
    const name = `sallyport-test-${process.pid}`
    for (const path of [socket, `\0${name}`]) await listen(path)
    chmodSync(socket, 0o777)
    symlinkSync(secret, join(workspace, 'link'))
    const docker = engine.env.DOCKER_HOST.replace('unix://', '')
    const words = [
      ...[secret, '/etc/shadow'].map((path) => `read ${path}`),
      ...[folder.path, '/root', '/home', '/boot', '/var/log', '/var/run'].map((path) => `list ${path}`),
      ...[docker, socket, `@${name}`].map((path) => `unix ${path}`),
    ]
    expect(await outside(probe('each', ...words))).toBe(words.map(() => 'yes').join('\n'))
    const seen = await inside(probe('each', ...words, 'read /workspace/link', `read /proc/1/root${secret}`))
    expect(seen.split('\n').filter((line) => !/^no (ENOENT|ECONNREFUSED|EACCES)$/.test(line))).toEqual([])
  })

  it('no descriptor is inherited, and there is no terminal', async () => {
    const through = ['bash', '-c', 'exec 200<"$0"; exec "$@"', secret]
    expect(await outside(probe('descriptor', '200'), { through })).toBe('yes')
    expect(await inside(probe('descriptor', '200'), { through })).toBe('no EBADF')
    expect(await inside(probe('open', '/dev/tty'))).toBe('no ENXIO')
  })

  it('no process of this machine is seen, signalled, traced or entered, and the first one inside lives on', async () => {
    const own = `${process.pid}`
    expect(await outside(probe('each', `list /proc/${own}`, `signal ${own}`))).toBe('yes\nyes')
    expect(await inside(probe('each', `list /proc/${own}`, `signal ${own}`))).toBe('no ENOENT\nno ESRCH')
    const kinds = ['net', 'mount', 'user', 'pid', 'cgroup']
    const entering = kinds.flatMap((kind) => [1, own].map((pid) => `nsenter --target ${pid} --${kind} true`))
    expect(await outside(['nsenter', '--target', own, '--net', 'echo', 'entered'])).toBe('entered')
    const tracing = [1, own].map((pid) => `perl -e "exit(syscall(101, 16, ${pid}, 0, 0) < 0)"`)
    expect(await succeeding([...entering, ...tracing, 'kill -9 1; sleep 0.2; false', 'true'])).toEqual(['true'])
  })

  it('nothing is mounted, and no namespace is created', async () => {
    expect(await outside(['unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'])).toBe('')
    const commands = [
      ...['mount -t tmpfs none /tmp', 'mount -o remount,rw /usr', 'mount --bind /tmp /usr', 'umount /proc/sys'],
      ...['mount -t proc none /tmp', 'mount -t cgroup -o memory none /tmp', 'umount --lazy /etc/hosts'],
      ...['unshare --user true', 'unshare --mount true', 'unshare --user --map-root-user --mount true'],
      ...['perl -e "exit(syscall(430, 0, 0) < 0)"', 'perl -e "exit(syscall(272, 0x10000000) < 0)"'],
      ...['chroot / true', 'mknod /tmp/device b 8 0', 'losetup --find', 'swapon /tmp'],
    ]
    expect(await succeeding([...commands, 'true'])).toEqual(['true'])
  })

  it('no privilege is regained', async () => {
    const commands = [
      ...['su --command true', 'setpriv --reuid=0 true', 'setpriv --regid=0 true', 'dmesg'],
      'cp /usr/bin/id /tmp/id && chmod u+s /tmp/id && [ "$(/tmp/id --user)" = 0 ]',
      'echo -1000 >/proc/self/oom_score_adj',
      'ulimit -H -n 10000000',
    ]
    expect(await outside(['setpriv', '--reuid=0', 'echo', 'root'])).toBe('root')
    expect(await succeeding([...commands, 'true'])).toEqual(['true'])
  })

  it('the settings of the kernel are not changed, and its memory is not read', async () => {
    const writing = [
      ...[
        '/proc/sys/kernel/core_pattern',
        '/proc/sys/kernel/hostname',
        '/proc/sysrq-trigger',
        '/proc/irq/default_smp_affinity',
      ],
      ...['/sys/kernel/uevent_helper', '/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/power/state'],
    ].map((path) => `test -e ${path} && exec 3<>${path}`)
    const files = ['kcore', 'slabinfo', 'timer_list', 'keys', 'kpagecount', 'vmallocinfo', 'kmsg', 'sched_debug']
    const reading = files.map((name) => `head -c 1 /proc/${name} | grep -q .`)
    const devices = ['/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda', '/dev/fuse', '/dev/kvm'].map(
      (path) => `exec 3<${path}`,
    )
    expect(await outside(probe('open', '/proc/sys/kernel/core_pattern'))).toBe('yes')
    expect(await outside(probe('read', '/proc/slabinfo'))).toBe('yes')
    expect(await succeeding([...writing, ...reading, ...devices, 'true'])).toEqual(['true'])
  })

  // The numbers below are those of one architecture.
  const itOnX64 = process.arch === 'x64' ? it : () => {}
  itOnX64('what no ordinary program asks of the kernel is refused', async () => {
    const calls = {
      ...{ vsock: [41, 40, 1, 0], alg: [41, 38, 5, 0], uring: [425, 1, 0], netfilter: [41, 16, 3, 12] },
      ...{ packet: [41, 17, 3, 0], keyctl: [250, 0, -3, 0], bpf: [321, 0, 0, 0], mount: [165, 0, 0, 0, 0, 0] },
      ...{ perf: [298, 0, 0, -1, -1, 0], userfaultfd: [323, 0], module: [175, 0, 0, 0], kexec: [246, 0, 0, 0, 0] },
    }
    const allowed = { unix: [41, 1, 1, 0], inet: [41, 2, 1, 0], inet6: [41, 10, 2, 0], route: [41, 16, 3, 0] }
    const script = Object.entries({ ...calls, ...allowed }).map(
      ([name, numbers]) => `$r = syscall(${numbers.join(', ')}); print "${name} " if $r >= 0 || $! == 14;`,
    )
    const { stdout, stderr } = await runInside(['perl', '-e', script.join('\n')])
    expect({ stdout, stderr }).toEqual({ stdout: 'unix inet inet6 route ', stderr: '' })
    // A call of another kind has other numbers: 39 of x32 is getpid.
    const foreign = ['perl', '-e', `print syscall(${0x40000000 + 39})`]
    expect(await runInside(foreign)).toMatchObject({ code: 128 + 31, stdout: '' })
  })

  it('a fork bomb ends at the limit, which the rest of the machine does not feel', async () => {
    const bomb = `let count = 0
      for (; count < 500; count++)
        if (require('node:child_process').spawn('sleep', ['100']).on('error', () => {}).pid === undefined) break
      console.log(count)
      process.exit()`
    const { stdout } = await runInside([process.execPath, '-e', bomb], { limits: { processes: 100 } })
    expect(Number(stdout)).toBeGreaterThan(10)
    expect(Number(stdout)).toBeLessThan(100)
  })

  it('files and memory end at their limits', async () => {
    const size = 32 * 1024 ** 2
    const limits = { memory: 256 * 1024 ** 2, temporaryFiles: size }
    const fill = (path: string, bytes: number): string => `fallocate --length ${bytes} ${path}`
    const fitting = fill('/tmp/file', 2 ** 20)
    const folders = ['/tmp', '/tmp/home', '/var/tmp', '/run', '/dev', '/dev/mqueue', '/sys', '/', '/etc']
    const commands = folders.map((path) => fill(`${path}/large`, size + 4096))
    const all = [fitting, ...commands, fill('/dev/shm/large', 2 ** 28 + 4096)]
    expect(await succeeding(all, { limits, mounts: [] })).toEqual([fitting])
    const hungry = ['perl', '-e', 'my $text = "x" x (400 * 1024 ** 2); print length $text']
    const { code, stdout } = await runInside(hungry, { limits })
    expect({ code, stdout }).toEqual({ code: 137, stdout: '' })
  })
})
