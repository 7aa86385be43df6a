import type { HostContext } from '../agents/agents.ts'
import { findUserHome } from '../config/config.ts'
import type { CliContext } from './cli-context.ts'

/** Where the agents of the user who runs the command store their files. */
export const createHostContext = ({ environment, cwd }: CliContext): HostContext => ({
  environment,
  platform: process.platform,
  home: findUserHome(environment),
  cwd,
})
