import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { PathContext } from '@sallyport/core'
import type { Environment, ProgramServerConfig, ServerConfig } from '../config/config.ts'
import { createPathWorld, REMOTE_PATH_WORLD } from './path-world.ts'

/** Programs that run another one in a container or on another machine, where our disk is not seen. */
const REMOTE_RUNNERS = new Set(['docker', 'podman', 'nerdctl', 'finch', 'kubectl', 'ssh'])

/** Where the paths of a server's tools lead: a program of ours sees our disk, another machine its own. */
export function createServerPathWorld(server: ServerConfig | undefined, environment: Environment): PathContext {
  if (server === undefined || !('command' in server) || runsElsewhere(server)) return REMOTE_PATH_WORLD
  const its = { ...environment, ...server.env }
  const userHome = its.HOME ?? homedir()
  const cwd = server.cwd ?? process.cwd()
  const { args, env } = server
  return createPathWorld({ environment: its, userHome, cwd, args, env, platform: process.platform })
}

const runsElsewhere = ({ kind, command }: ProgramServerConfig): boolean =>
  kind === 'docker-gateway' || REMOTE_RUNNERS.has(basename(command))
