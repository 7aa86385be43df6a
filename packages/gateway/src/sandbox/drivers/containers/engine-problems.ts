import { SallyportError } from '@sallyport/core'
import type { ProbeResult } from '../driver.ts'
import type { EngineKind, EngineReply } from './engine.ts'

type Problem = Extract<ProbeResult, { ok: false }>

export const NOT_LINUX: Problem = {
  ok: false,
  reason:
    'containers need an engine on this machine, which must be Linux (that of Docker Desktop runs in a virtual machine)',
  fix: 'Run Sallyport in that virtual machine, or run the server in two containers and connect both: url and url_isolated.',
}

export function notInstalled({ name, install }: EngineKind): Problem {
  return { ok: false, reason: `there is no program ${name} in PATH`, fix: install }
}

export function notHere({ name }: EngineKind): Problem {
  return {
    ok: false,
    reason: `the containers of ${name} do not run on this machine, or cannot be seen from here`,
    fix: `Use an engine on this machine (DOCKER_HOST, \`${name} context\`). If Sallyport is in a container itself, start that with --pid host, or run Sallyport outside.`,
  }
}

/** What engines write, and what helps. The first that matches is used. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [
    /permission denied while trying to connect|permission denied.*docker\.sock/i,
    'This user may not use the engine: add it to the group "docker" (whoever is in it is root in effect), or use rootless podman.',
  ],
  [
    /cannot connect to the docker daemon|failed to connect to the docker api|error during connect|is the docker daemon running/i,
    'The engine does not run, or cannot be reached: start it (`systemctl start docker`), or correct DOCKER_HOST.',
  ],
  [
    /setting? ?rlimit|RLIMIT_/i,
    'The engine may not raise limits here: set default_ulimits in containers.conf, such as ["nofile=1024:1024", "nproc=1024:1024"].',
  ],
  [
    /cgroups in hybrid mode/i,
    'This crun does not know such cgroups: install runc, and set runtime = "runc" in containers.conf.',
  ],
  [
    /no such image|image not known|unable to find image|not found: manifest/i,
    'Get the image with `pull`, or build it. Nothing is downloaded when a server starts.',
  ],
  [/unknown flag|unknown shorthand flag/i, 'This version is too old: Docker 20.10 or later is needed, or Podman 4.'],
]

/** The last line that an engine wrote, and what helps. */
export function explainReply({ name }: EngineKind, { code, stderr }: EngineReply): { reason: string; fix: string } {
  const lines = stderr.trim().split('\n')
  const said = lines.find((line) => /error|cannot|denied|unable|unknown/i.test(line)) ?? lines.at(-1) ?? ''
  const reason = said === '' ? `${name} ended with ${code ?? 'a timeout'} and no message` : said
  const fix =
    KNOWN.find(([pattern]) => pattern.test(stderr))?.[1] ??
    `Try \`${name} run --rm --network none <image>\` in a shell.`
  return { reason: `${name}: ${reason.trim()}`.replace(/\.$/, ''), fix }
}

export const notCreated = (kind: EngineKind, reply: EngineReply): SallyportError => {
  const { reason, fix } = explainReply(kind, reply)
  return new SallyportError('SANDBOX_UNAVAILABLE', `The container could not be created: ${reason}.`, { hint: fix })
}

export function notAsExpected({ name }: EngineKind, differences: readonly string[]): SallyportError {
  const what = `The container is not what it should be: ${differences.join('; ')}. It was removed.`
  return new SallyportError('SANDBOX_UNAVAILABLE', what, {
    hint: `Check which ${name} this is (\`command -v ${name}\`, \`${name} version\`) and its settings, and report it if it is the one of your system.`,
  })
}

export const noImage = ({ name }: EngineKind, image: string): SallyportError =>
  new SallyportError('SANDBOX_UNAVAILABLE', `There is no image ${image} in ${name} here.`, {
    hint: `Get it with \`${name} pull ${image}\`, or build it. Nothing is downloaded when a server starts.`,
  })
