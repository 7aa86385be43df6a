import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf } from '../harness/run-command.ts'
import { promise } from '../promises.ts'
import { canSandbox, makeUserFolder, run, SALLYPORT, type Start, sandboxed, USERS } from './sandbox-world.ts'

const AVAILABLE = canSandbox()

describe.skipIf(!AVAILABLE).each(USERS)(`before anything runs, as %s (${promise('SEN-12')})`, (user) => {
  const folder = makeUserFolder(user)
  const options: Start = { user, folder: folder.path }
  const workspace = join(folder.path, 'workspace')
  const other = join(folder.path, 'other')
  beforeAll(() => {
    mkdirSync(workspace)
    mkdirSync(other)
  })
  afterAll(() => folder.remove())

  /** A bwrap that changes what it was asked for, as a broken or an exchanged one would. */
  function writeBwrap(name: string, script: string): string {
    const path = join(folder.path, name)
    mkdirSync(path)
    writeFileSync(join(path, 'bwrap'), script, { mode: 0o755 })
    return `${path}:${process.env.PATH}`
  }
  const changing = (change: string): string => `#!/bin/bash\nexec 3< <({ ${change}; } <&3)\nexec /usr/bin/bwrap "$@"\n`
  const dropping = (option: string): string => changing(`sed -z '/^${option}$/d'`)

  const without = (...words: readonly string[]): string =>
    `tr '\\0' '\\1' | sed 's|${words.join('\\x01')}\\x01||' | tr '\\1' '\\0'`

  const start = (path: string) =>
    run(sandboxed(['--json', '--workspace', workspace], ['echo', 'it ran']), { ...options, env: { PATH: path } })

  it.each([
    ['shares the network of this machine', dropping('--unshare-net'), 'it shares the net namespace'],
    ['shares the ipc namespace', dropping('--unshare-ipc'), 'it shares the ipc namespace'],
    [
      'shares the host name',
      changing(`sed -z -e '/^--unshare-uts$/d' -e '/^--hostname$/,+1d'`),
      'it shares the uts namespace',
    ],
    ['has all system calls', changing(`sed -z '/^--seccomp$/,+1d'`), 'its system calls are not filtered'],
    ['has a writable system', changing(`sed -z -e '0,/^--ro-bind$/s//--bind/'`), 'it can write to /usr'],
    ['has a writable root', changing(without('--remount-ro', '/')), 'it can write to /'],
    ['has the settings of the kernel writable', changing(without('--ro-bind', '/proc/sys', '/proc/sys')), '/proc/sys'],
    ['sees more', changing(`(printf -- '--ro-bind\\0/boot\\0/boot\\0'; cat)`), 'it sees /boot, which it should not'],
    [
      'has another workspace',
      changing(`sed -z 's|${workspace}$|${other}|'`),
      '/workspace is not what was checked before',
    ],
  ])('a sandbox that %s is refused', async (_, script, message) => {
    const refused = await start(writeBwrap(`lying-${message.replaceAll(/\W/g, '')}`, script))
    expect({ ...refused, stderr: '' }).toEqual({ code: 5, stdout: '', stderr: '' })
    const error = errorOf(refused)
    expect(error.code).toBe('SANDBOX_UNAVAILABLE')
    expect(error.message).toContain(message)
    expect(error.message).toContain('Nothing was started in it.')
  })

  it('the same without a change is accepted', async () => {
    expect(await start(writeBwrap('honest', changing('cat')))).toEqual({ code: 0, stdout: 'it ran\n', stderr: '' })
  })

  it('a machine without any driver is refused, with how to install one', async () => {
    const command = [...SALLYPORT, 'run-sandboxed', '--json', '--', '/bin/echo', 'it ran']
    const refused = await run(['/usr/bin/env', 'PATH=/nowhere', ...command], options)
    expect({ ...refused, stderr: '' }).toEqual({ code: 5, stdout: '', stderr: '' })
    expect(errorOf(refused).message).toBe(
      'Programs cannot be isolated here: there is no program bwrap (bubblewrap) in PATH; there is no program docker in PATH; there is no program podman in PATH.',
    )
    expect(errorOf(refused).hint).toContain('apt-get install bubblewrap')
  })

  it('a machine that forbids user namespaces is refused, with what bubblewrap said', async () => {
    const through = ['bwrap', '--unshare-user', '--disable-userns', '--dev-bind', '/', '/', '--']
    const flags = ['--json', '--driver', 'bubblewrap']
    const refused = await run(sandboxed(flags, ['echo', 'it ran']), { ...options, through })
    expect({ ...refused, stderr: '' }).toEqual({ code: 5, stdout: '', stderr: '' })
    expect(errorOf(refused).message).toMatch(/^Programs cannot be isolated here: bwrap: .*ENOSPC/)
    expect(errorOf(refused).hint).toContain('user.max_user_namespaces')
  })

  it('an old bubblewrap is refused, with the version that is needed', async () => {
    const old = '#!/bin/sh\necho "bwrap: Unknown option --disable-userns" >&2\nexit 1\n'
    const refused = await start(writeBwrap('old', old))
    expect(refused).toMatchObject({ code: 5, stdout: '' })
    expect(errorOf(refused).hint).toContain('0.8.0')
  })

  it('a bubblewrap that fails after its check is reported', async () => {
    const failing = `#!/bin/sh\ncase "$*" in *--info-fd*) echo "bwrap: no more" >&2; exit 1;; esac\nexec /usr/bin/bwrap "$@"\n`
    const refused = await start(writeBwrap('failing', failing))
    expect(refused).toMatchObject({ code: 5, stdout: '' })
    expect(errorOf(refused).message).toBe('The sandbox could not be created: bubblewrap exited with code 1.')
    expect(refused.stderr).toContain('bwrap: no more')
  })
})
