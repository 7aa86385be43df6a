import { parseHostAndPort } from '@sallyport/core'
import type { ServerEntry } from '../reading/config-schema.ts'
import { type EntrySource, expandTilde } from '../reading/entry-source.ts'
import type { SandboxDriverName, ServerSandbox } from '../settings.ts'
import type { CommonEntry } from './server-keys.ts'

/** Keys that have a meaning in a sandbox only. */
const SANDBOX_ONLY = ['network', 'mounts', 'limits', 'forwards'] as const

/** How a program of the entry is isolated; `undefined` if it runs like any other program of this user. */
export function readSandbox(source: EntrySource<ServerEntry>): ServerSandbox | undefined {
  const { entry, node, log, sandboxDefault } = source
  const { image } = entry
  const isolates =
    entry.sandbox === undefined ? sandboxDefault.isolates || image !== undefined : entry.sandbox !== 'none'
  if (image !== undefined) checkImage(source)
  else if (entry.sandbox === 'none' && sandboxDefault.isolates && entry.allowUnsandboxed !== true)
    log.error(
      node.children.get('sandbox') ?? node,
      'expected "allow_unsandboxed: true" beside it, since sandbox.default asks for a sandbox.',
    )
  if (isolates)
    return {
      driver: entry.network === 'host' ? requireBubblewrap(source) : chooseDriver(source),
      image,
      network: entry.network ?? 'brokered',
      mounts: readMounts(source),
      ...(entry.forwards !== undefined && { forwards: readForwards(source) }),
      ...(entry.limits !== undefined && { limits: entry.limits }),
    }
  for (const key of SANDBOX_ONLY)
    if (entry[key] !== undefined)
      log.error(
        node.children.get(key) ?? node,
        'expected "sandbox: auto" beside it: it has no effect without a sandbox.',
      )
  return sandboxDefault.isolates ? WITHOUT_SANDBOX : undefined
}

/** Others are isolated by default, so this one runs only for sessions that hold no private data. */
const WITHOUT_SANDBOX: ServerSandbox = { driver: 'none', network: 'host', mounts: [] }

/** The egress proxy listens there. */
const TAKEN_PORT = 3128

function readForwards({ entry, node, log }: EntrySource<ServerEntry>): ServerSandbox['forwards'] {
  const at = node.children.get('forwards')
  const taken = new Set([TAKEN_PORT])
  return (entry.forwards ?? []).flatMap(({ listen, to }, index) => {
    const one = at?.children.get(index) ?? at ?? node
    const target = parseHostAndPort(to)
    if (target === undefined)
      log.error(one, 'expected "to" to be a host and a port, such as "db.internal:5432" or "10.0.0.7:5432".')
    if (taken.has(listen)) log.error(one, `expected another port than ${listen}, which is used already.`)
    taken.add(listen)
    return target === undefined ? [] : [{ listen, ...target }]
  })
}

function chooseDriver({ entry: { sandbox, image }, sandboxDefault }: EntrySource<ServerEntry>): SandboxDriverName {
  if (sandbox !== undefined && sandbox !== 'none' && sandbox !== 'auto') return sandbox
  return image !== undefined && sandboxDefault.driver === 'bubblewrap' ? 'auto' : sandboxDefault.driver
}

/** Only bubblewrap can give a program the network of this machine, and take its unix sockets away. */
function requireBubblewrap(source: EntrySource<ServerEntry>): SandboxDriverName {
  const { entry, node, log } = source
  const driver = chooseDriver(source)
  if (entry.image !== undefined || driver === 'docker' || driver === 'podman')
    log.error(
      node.children.get('network') ?? node,
      'expected "brokered" or "none": only a program of this machine in bubblewrap can have the network of this machine. Without "image", write "sandbox: bubblewrap" beside it.',
    )
  if (entry.forwards !== undefined)
    log.error(
      node.children.get('forwards') ?? node,
      'expected no "forwards" beside "network: host": the program connects to hosts itself.',
    )
  return 'bubblewrap'
}

function checkImage({ entry: { image, sandbox }, node, log }: EntrySource<ServerEntry>): void {
  const at = (key: string) => node.children.get(key) ?? node
  if (sandbox === 'none' || sandbox === 'bubblewrap')
    log.error(
      at('sandbox'),
      'expected "auto", "docker" or "podman": an image runs in a container, which is its sandbox.',
    )
  // It would be an option for the engine.
  if (image !== undefined && at('image').origin !== 'unresolved' && !isImageName(image))
    log.error(at('image'), 'expected the name of an image, such as "registry.example/server:1" or "server@sha256:…".')
}

/** Whether an engine takes this for the name of an image, and for nothing else. */
export const isImageName = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/.test(text)

function readMounts({ entry, node, log, userHome }: EntrySource<ServerEntry>): readonly string[] {
  const at = node.children.get('mounts')
  return (entry.mounts ?? []).map((written, index) => {
    const path = expandTilde(written, userHome)
    if (!path.startsWith('/'))
      log.error(
        at?.children.get(index) ?? at ?? node,
        'expected a path that begins with / or ~, such as "/srv/data:rw".',
      )
    return path
  })
}

/** A server that the gateway does not start as a program cannot be put into a sandbox. */
export function refuseSandbox({ entry, node, log }: Pick<EntrySource<CommonEntry>, 'entry' | 'node' | 'log'>): void {
  for (const key of ['sandbox', 'image', ...SANDBOX_ONLY] as const) {
    // `network: none` asks for a protection; `sandbox: none` for none.
    if (entry[key] === undefined || (key === 'sandbox' && entry.sandbox === 'none')) continue
    log.error(
      node.children.get(key) ?? node,
      'expected a server that is a program of its own ("command" or "image"): only those run in a sandbox. A server with a url can have an isolated instance (url_isolated).',
    )
  }
}
