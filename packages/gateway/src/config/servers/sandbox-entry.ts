import { parseHostAndPort } from '@sallyport/core'
import type { ServerEntry } from '../reading/config-schema.ts'
import { type EntrySource, expandTilde } from '../reading/entry-source.ts'
import type { ServerSandbox } from '../settings.ts'
import type { CommonEntry } from './server-keys.ts'

/** Keys that have a meaning in a sandbox only. */
const SANDBOX_ONLY = ['network', 'mounts', 'limits', 'forwards'] as const

/** How a program of the entry is isolated; `undefined` if it runs like any other program of this user. */
export function readSandbox(source: EntrySource<ServerEntry>): ServerSandbox | undefined {
  const { entry, node, log, sandboxDefault } = source
  const wanted = entry.sandbox ?? sandboxDefault
  if (entry.sandbox === 'none' && sandboxDefault !== 'none' && entry.allowUnsandboxed !== true)
    log.error(
      node.children.get('sandbox') ?? node,
      'expected "allow_unsandboxed: true" beside it, since sandbox.default asks for a sandbox.',
    )
  if (wanted !== 'none')
    return {
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
  return undefined
}

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
  for (const key of ['sandbox', ...SANDBOX_ONLY] as const) {
    // `network: none` asks for a protection; `sandbox: none` for none.
    if (entry[key] === undefined || (key === 'sandbox' && entry.sandbox === 'none')) continue
    log.error(
      node.children.get(key) ?? node,
      'expected a server that is a program of its own ("command"): only those run in a sandbox. A server with a url can have an isolated instance (url_isolated).',
    )
  }
}
