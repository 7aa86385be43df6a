import { homedir } from 'node:os'
import type { PathWorld } from '@sallyport/core'
import type { Environment, ServerConfig } from '../config/config.ts'
import { createPathWorld, REMOTE_PATH_WORLD } from './path-world.ts'

/** Where the paths of a server's tools lead: a program of ours sees our disk, another machine its own. */
export function serverPathWorld(server: ServerConfig | undefined, environment: Environment): PathWorld {
  if (server === undefined || !('command' in server)) return REMOTE_PATH_WORLD
  const its = { ...environment, ...server.env }
  const userHome = its.HOME ?? homedir()
  return createPathWorld({ environment: its, userHome, cwd: server.cwd ?? process.cwd(), platform: process.platform })
}
