import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { PathContext } from '@sallyport/core'
import type { Environment, ProgramServerConfig, ServerConfig } from '../config/config.ts'
import { createPathContext, REMOTE_PATH_CONTEXT } from './path-context.ts'

/** Programs that run another program in a container or on another machine, which cannot see our disk. */
const REMOTE_RUNNERS = new Set(['docker', 'podman', 'nerdctl', 'finch', 'kubectl', 'ssh'])

/** The file system that the paths of a server's tools refer to: our disk for a local program, else another machine's. */
export function createServerPathContext(server: ServerConfig | undefined, environment: Environment): PathContext {
  if (server === undefined || !('command' in server) || runsElsewhere(server)) return REMOTE_PATH_CONTEXT
  const serverEnvironment = { ...environment, ...server.env }
  const userHome = serverEnvironment.HOME ?? homedir()
  const cwd = server.cwd ?? process.cwd()
  const { args, env } = server
  return createPathContext({ environment: serverEnvironment, userHome, cwd, args, env, platform: process.platform })
}

const runsElsewhere = ({ kind, command }: ProgramServerConfig): boolean =>
  kind === 'docker-gateway' || REMOTE_RUNNERS.has(basename(command))
