import type { ProbeResult } from './driver.ts'

type Problem = Extract<ProbeResult, { ok: false }>

export const NOT_LINUX: Problem = {
  ok: false,
  reason: 'bubblewrap needs Linux',
  fix: 'Run it in a Linux virtual machine or container.',
}

const INSTALL =
  'Install it: `apt-get install bubblewrap socat` on Debian and Ubuntu, `dnf install bubblewrap socat` on Fedora, `pacman -S bubblewrap socat` on Arch, `apk add bubblewrap socat` on Alpine.'

export const NOT_INSTALLED: Problem = {
  ok: false,
  reason: 'there is no program bwrap (bubblewrap) in PATH',
  fix: INSTALL,
}

/** What bubblewrap writes, and what helps. The first that matches is used. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [
    /unknown option|--disable-userns|--size/i,
    'This bubblewrap is too old: version 0.8.0 or later is needed (`bwrap --version`).',
  ],
  [
    /no space left on device|ENOSPC/i,
    'The system allows no more user namespaces: `sysctl user.max_user_namespaces` is 0, or used up, or this is inside another sandbox. Raise it, as in `sysctl -w user.max_user_namespaces=15000`.',
  ],
  [
    /setting up uid map|loopback|RTM_NEWADDR/i,
    'The system restricts user namespaces. On Ubuntu 24.04 and later AppArmor does that: install a profile for bwrap, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`. In a container, start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or run Sallyport outside.',
  ],
  [
    /(?:can't|cannot) mount proc|mounting proc/i,
    'This is inside a container that hides parts of /proc. Start it with `--security-opt systempaths=unconfined`, or run Sallyport outside.',
  ],
  [/seccomp/i, 'The kernel has no filters of system calls (CONFIG_SECCOMP_FILTER): use one of your distribution.'],
  [
    /no permissions? to creat|creating new namespace|operation not permitted|permission denied/i,
    'The system allows no user namespaces: `sysctl -w kernel.unprivileged_userns_clone=1` on Debian; in a container, start it with `--security-opt seccomp=unconfined`, or run Sallyport outside.',
  ],
]

export function explainProbe(stderr: string, code: number | null): Problem {
  const said = stderr.trim().split('\n').at(-1) ?? ''
  const reason = said === '' ? `bubblewrap ended with ${code ?? 'a signal'} and no message` : said
  const fix =
    KNOWN.find(([pattern]) => pattern.test(said))?.[1] ?? 'Try `bwrap --unshare-all --ro-bind / / true` in a shell.'
  return { ok: false, reason: reason.replace(/\.$/, ''), fix }
}
