import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { quoteForShell } from '@sallyport/core'
import { PACKAGE_ROOT } from '../../package-root.ts'
import { EGRESS_SOCKET, OWN_FOLDER } from './bubblewrap-arguments.ts'

/** Where programs in a sandbox find their proxy. */
export const BRIDGE_PORT = 3128

export interface Bridge {
  readonly name: 'socat' | 'node'
  /** For a shell. */
  readonly command: string
  readonly tools: readonly { readonly host: string; readonly guest: string }[]
}

const SOCAT = '/usr/bin/socat'

/** The program inside a sandbox that connects its port 3128 with the socket of the egress proxy. */
export function chooseBridge(socat: string = SOCAT): Bridge {
  if (existsSync(socat)) {
    const listen = `TCP4-LISTEN:${BRIDGE_PORT},bind=127.0.0.1,reuseaddr,fork,backlog=128`
    return { name: 'socat', command: `${quoteForShell(socat)} ${listen} UNIX-CONNECT:${EGRESS_SOCKET}`, tools: [] }
  }
  const node = `${OWN_FOLDER}/node`
  const script = `${OWN_FOLDER}/bridge.cjs`
  return {
    name: 'node',
    command: `${node} ${script} ${BRIDGE_PORT} ${EGRESS_SOCKET}`,
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
