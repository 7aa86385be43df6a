import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { PathWorld } from '@sallyport/core'
import type { Environment, ProgramServerConfig, ServerConfig } from '../config/config.ts'
import { createPathWorld, REMOTE_PATH_WORLD } from './path-world.ts'

/** Programs that run another one in a container or on another machine, where our disk is not seen. */
const ELSEWHERE = new Set(['docker', 'podman', 'nerdctl', 'finch', 'kubectl', 'ssh'])

/** Where the paths of a server's tools lead: a program of ours sees our disk, another machine its own. */
export function serverPathWorld(server: ServerConfig | undefined, environment: Environment): PathWorld {
  if (server === undefined || !('command' in server) || runsElsewhere(server)) return REMOTE_PATH_WORLD
  const its = { ...environment, ...server.env }
  const userHome = its.HOME ?? homedir()
  const cwd = server.cwd ?? process.cwd()
  const { args, env } = server
  return createPathWorld({ environment: its, userHome, cwd, args, env, platform: process.platform })
}

const runsElsewhere = ({ kind, command }: ProgramServerConfig): boolean =>
  kind === 'docker-gateway' || ELSEWHERE.has(basename(command))
