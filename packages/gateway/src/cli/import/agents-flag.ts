import { findAdapter } from '../../agents/agents.ts'

/** A flag that names agents, by id or alias. */
export const agentsFlag = (brief: string) =>
  ({
    kind: 'parsed',
    parse: (name: string) => findAdapter(name).id,
    optional: true,
    variadic: true,
    placeholder: 'agent',
    brief,
  }) as const
