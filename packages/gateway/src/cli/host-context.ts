import type { HostContext } from '../agents/agents.ts'
import { userHomeOf } from '../config/config.ts'
import type { CliContext } from './cli-context.ts'

/** Where the agents of the user who runs the command store their files. */
export const createHostContext = ({ environment, cwd }: CliContext): HostContext => ({
  environment,
  platform: process.platform,
  home: userHomeOf(environment),
  cwd,
})
