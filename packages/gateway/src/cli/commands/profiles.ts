import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { withOverview } from '../terminal/help-text.ts'
import { deleteCommand, SET_EXAMPLES, setCommand } from './profiles-change.ts'
import { LIST_EXAMPLES, listCommand, showCommand } from './profiles-list.ts'

export const profilesCommands = withOverview(
  buildRouteMap<'list' | 'show' | 'set' | 'delete', CliContext>({
    routes: Object.assign(Object.create(null), {
      list: listCommand,
      show: showCommand,
      set: setCommand,
      delete: deleteCommand,
    }),
    defaultCommand: 'list',
    docs: { brief: 'List, show and change the profiles of agents, and the tools that they select' },
  }),
  [
    ...LIST_EXAMPLES,
    ['profiles show claude.reviewer', 'One profile, and every tool that it selects'],
    ...SET_EXAMPLES,
    ['profiles delete codex.scratch', 'Delete one'],
  ],
)
