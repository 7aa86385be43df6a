import { homedir } from 'node:os'
import type { AgentPlace } from '../../agents/agents.ts'
import type { CliContext } from '../cli-context.ts'

/** Where the agents of this user look for their files. */
export function placeOf({ environment, cwd }: CliContext): AgentPlace {
  return { environment, platform: process.platform, home: environment.HOME || homedir(), cwd }
}
