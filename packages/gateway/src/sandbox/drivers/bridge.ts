import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { formatHostAndPort, quoteForShell } from '@sallyport/core'
import { PACKAGE_ROOT } from '../../package-root.ts'
import { EGRESS_SOCKET, OWN_FOLDER } from './bubblewrap-arguments.ts'
import type { Forward } from './driver.ts'

/** Where programs in a sandbox find their proxy. */
export const BRIDGE_PORT = 3128

export interface Bridge {
  readonly name: 'socat' | 'node'
  /** For a shell. All of them run at the same time. */
  readonly commands: readonly string[]
  readonly tools: readonly { readonly host: string; readonly guest: string }[]
}

const SOCAT = '/usr/bin/socat'

/** The programs inside a sandbox that connect its port 3128 with the socket of the egress proxy, and further ports with hosts. */
export function chooseBridge(forwards: readonly Forward[] = [], socat: string = SOCAT): Bridge {
  if (existsSync(socat)) {
    const listenAt = (port: number): string => `TCP4-LISTEN:${port},bind=127.0.0.1,reuseaddr,fork,backlog=128`
    const routes = [
      [listenAt(BRIDGE_PORT), `UNIX-CONNECT:${EGRESS_SOCKET}`],
      ...forwards.map((forward) => [
        listenAt(forward.listen),
        `PROXY:127.0.0.1:${formatHostAndPort(forward)},proxyport=${BRIDGE_PORT}`,
      ]),
    ]
    return { name: 'socat', commands: routes.map((route) => [socat, ...route].map(quoteForShell).join(' ')), tools: [] }
  }
  const node = `${OWN_FOLDER}/node`
  const script = `${OWN_FOLDER}/bridge.cjs`
  const targets = forwards.map((forward) => `${forward.listen}=${formatHostAndPort(forward)}`)
  return {
    name: 'node',
    commands: [
      [node, script, BRIDGE_PORT, EGRESS_SOCKET, ...targets].map((word) => quoteForShell(`${word}`)).join(' '),
    ],
    tools: [
      { host: process.execPath, guest: node },
      { host: join(PACKAGE_ROOT, 'sandbox/bridge.cjs'), guest: script },
    ],
  }
}

/** Lets programs of Node that are too old to use a proxy by themselves use it. */
export const NODE_PROXY = {
  host: join(PACKAGE_ROOT, 'sandbox/node-proxy.cjs'),
  guest: `${OWN_FOLDER}/node-proxy.cjs`,
}
