import type { HostContext } from '../agents/agents.ts'
import { userHomeOf } from '../config/config.ts'
import type { CliContext } from './cli-context.ts'

/** Where the agents of whoever runs the command keep their files. */
export const createHostContext = ({ environment, cwd }: CliContext): HostContext => ({
  environment,
  platform: process.platform,
  home: userHomeOf(environment),
  cwd,
})
