import { statSync } from 'node:fs'
import { NAMESPACES, type ProcessFacts, readNamespaces, readProcessFacts } from './process-facts.ts'

/** Identifies a file or folder, whatever its path is. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: bigint
}

/** A mount that there must be, or with `isOptional` may be. Further ones below it are parts of it. */
export interface ExpectedMount {
  readonly point: string
  readonly access: 'read' | 'write'
  readonly isOptional?: boolean
  /** What must be found there, so that nobody has exchanged it before it was mounted. */
  readonly file?: FileIdentity
}

/** What a sandbox must be. */
export interface Expectation {
  /** All mounts: there may be no others. */
  readonly mounts: readonly ExpectedMount[]
  /** Who runs in it: one user of a namespace of its own, or any user of this machine but root. */
  readonly user: { readonly userMap: string; readonly groupMap: string } | 'ordinary'
  /** It has the network of this machine. */
  readonly hasHostNetwork?: boolean
  /** Whether a filter of system calls must be in force. */
  readonly isFiltered?: boolean
  /** The only descriptor besides stdin, stdout and stderr that leads anywhere. */
  readonly gate?: number
  /** The process has opened descriptors of its own by now, so they are not checked. */
  readonly hasStarted?: boolean
}

/** How a sandbox differs from what it must be; empty if it does not. Only the kernel is asked, never the sandbox. */
export function attest(pid: number, expected: Expectation): readonly string[] {
  const facts = readProcessFacts(pid)
  return [
    ...findSharedNamespaces(facts, expected),
    ...(expected.hasHostNetwork ? [] : findNetwork(facts)),
    ...findPrivileges(facts, expected),
    ...findUnexpectedMounts(facts, expected),
    ...findExchangedFiles(pid, expected),
    ...findDescriptors(facts, expected),
  ]
}

export function identityOf(path: string): FileIdentity {
  const { dev, ino } = statSync(path, { bigint: true })
  return { dev, ino }
}

function findSharedNamespaces({ namespaces }: ProcessFacts, expected: Expectation): readonly string[] {
  const own = readNamespaces('self')
  const shared = [expected.user === 'ordinary' && 'user', expected.hasHostNetwork && 'net']
  const needed = NAMESPACES.filter((name) => !shared.includes(name))
  return needed
    .filter((name) => namespaces[name] === own[name])
    .map((name) => `it shares the ${name} namespace of this machine`)
}

function findNetwork({ interfaces, routes }: ProcessFacts): readonly string[] {
  const others = interfaces.filter((name) => name !== 'lo')
  return [
    ...(others.length > 0 ? [`it has the network interfaces ${others.join(', ')}`] : []),
    ...(routes > 0 ? [`it has ${routes} routes to other machines`] : []),
  ]
}

function findPrivileges(facts: ProcessFacts, { user, isFiltered }: Expectation): readonly string[] {
  const { noNewPrivileges, capabilities, hasFilter } = facts
  return [
    ...(noNewPrivileges ? [] : ['it may gain privileges (no_new_privs is off)']),
    ...(capabilities.length > 0 ? [`it has capabilities (${capabilities.join(', ')})`] : []),
    ...(hasFilter || isFiltered !== true ? [] : ['its system calls are not filtered']),
    ...(isExpectedUser(facts, user) ? [] : ['it runs as another user than it should']),
  ]
}

function isExpectedUser({ userMap, groupMap, users }: ProcessFacts, user: Expectation['user']): boolean {
  if (user === 'ordinary') return users.every((uid) => uid > 0)
  return userMap.join() === user.userMap && groupMap.join() === user.groupMap
}

function findUnexpectedMounts({ mounts }: ProcessFacts, expected: Expectation): readonly string[] {
  return [
    ...mounts.flatMap(({ point, writable }) => {
      const known = findClosest(expected.mounts, point)
      if (known === undefined) return [`it sees ${point}, which it should not`]
      return writable && known.access === 'read' ? [`it can write to ${point}`] : []
    }),
    ...expected.mounts
      .filter(({ point, isOptional }) => isOptional !== true && !mounts.some((mount) => mount.point === point))
      .map(({ point }) => `nothing is mounted at ${point}`),
  ]
}

/** The innermost one decides: a folder that is read-only may be inside one that is not. */
function findClosest(mounts: readonly ExpectedMount[], point: string): ExpectedMount | undefined {
  const around = mounts.filter((known) =>
    known.point === '/' ? point === '/' : point === known.point || point.startsWith(`${known.point}/`),
  )
  return around.toSorted((a, b) => b.point.length - a.point.length)[0]
}

function findExchangedFiles(pid: number, { mounts }: Expectation): readonly string[] {
  return mounts.flatMap(({ point, file }) => {
    if (file === undefined) return []
    const found = statSync(`/proc/${pid}/root${point}`, { bigint: true, throwIfNoEntry: false })
    return found?.dev === file.dev && found.ino === file.ino ? [] : [`${point} is not what was checked before`]
  })
}

function findDescriptors({ descriptors }: ProcessFacts, { gate, hasStarted }: Expectation): readonly string[] {
  if (hasStarted) return []
  return Object.entries(descriptors)
    .filter(([number, target]) => Number(number) !== gate && target !== '/dev/null')
    .map(([number, target]) => `it has inherited descriptor ${number} (${target})`)
}
