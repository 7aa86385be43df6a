import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../../cli-context.ts'
import { withOverview } from '../../terminal/help-text.ts'
import { acceptCommand } from './tools-accept.ts'
import { checkCommand } from './tools-check.ts'
import { costCommand } from './tools-cost.ts'
import { LIST_EXAMPLES, listCommand } from './tools-list.ts'
import { savingsCommand } from './tools-savings.ts'
import { showCommand } from './tools-show.ts'

export const toolsCommands = withOverview(
  buildRouteMap<'list' | 'show' | 'accept' | 'check' | 'cost' | 'savings', CliContext>({
    routes: Object.assign(Object.create(null), {
      list: listCommand,
      show: showCommand,
      accept: acceptCommand,
      check: checkCommand,
      cost: costCommand,
      savings: savingsCommand,
    }),
    defaultCommand: 'list',
    docs: { brief: 'List, show, accept, check and count the tools of all servers' },
  }),
  [
    ...LIST_EXAMPLES,
    ['tools show github/create_issue', 'One tool: what it does, and every rule with its location'],
    ['tools accept github/create_issue', 'See what its server changed, then accept it'],
    ['tools check', 'For CI: is every tool reviewed, and unchanged since?'],
    ['tools cost', 'How many tokens each of them costs an agent in every turn'],
    ['tools savings', 'How many tokens of results stayed out of agents’ contexts'],
  ],
)
